"""How long tasks wait if routers see old summaries: `python -m bench.stale [-o json]`.

A study in virtual time: 16 regions of 16 slots, one-slot jobs of mean length 1 (exponential, in
reality `SERVICE_S`), Poisson arrivals at load 0.9 to four routers, each of which sees summaries
that are up to one period old. Compared are

best      the region that advertises most free slots
random    any region
two       of two regions at random, the one that advertises more
oracle    the region with the shortest queue now, without any delay
ours      the product's own weights and draw: two regions by free slots less what is under way, a
          fresh offer of both that is held, the better one taken and the other let go

Messages take half a round trip each; round trips are measured ones between cloud regions if the
public data set is beside the checkout (`../shared/data`), else drawn from 20 to 250 ms. Wait is
from arrival at the router to the start of the job, in thousandths of a service time.
"""

import csv
import gzip
import heapq
import random
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np

from bench.harness import Figure, Report, report
from federation.domain.routing import draw, weights

REGIONS, SLOTS, ROUTERS = 16, 16, 4
LOAD = 0.9
SERVICE_S = 60.0
"""The mean job in seconds: it says how much of a service time a round trip is."""
JOBS, WARM_UP = 60_000, 10_000
PERIODS = (0.1, 0.5, 2.0)
POLICIES = ("best", "random", "two", "oracle", "ours")
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "regions" / "rtt_ms.csv.gz"


@dataclass(slots=True)
class Region:
    """One region: what runs, what is promised, and who waits (arrival, of a job)."""

    free: int = SLOTS
    held: int = 0
    queue: deque[float] = field(default_factory=deque)

    @property
    def now(self) -> int:
        """Slots that an offer may promise now."""
        return max(0, self.free - self.held - len(self.queue))

    @property
    def ahead(self) -> int:
        """How far a job that comes now is from its start: below 0 there is room."""
        return len(self.queue) + self.held - self.free


class Study:
    """One run of one policy."""

    def __init__(
        self, policy: str, period: float, rtts: Sequence[Sequence[float]], seed: int
    ) -> None:
        self.rng = random.Random(seed)
        self.policy = policy
        self.period = period
        self.rtts = rtts
        self.regions = [Region() for _ in range(REGIONS)]
        self.seen = [[float(SLOTS)] * REGIONS for _ in range(ROUTERS)]
        self.inflight = [[0] * REGIONS for _ in range(ROUTERS)]
        self.waits: list[float] = []
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def run(self) -> Sequence[float]:
        """The waits of all jobs after the warm-up."""
        for region in range(REGIONS):
            self.after(self.rng.random() * self.period, partial(self.publish, region))
        self.after(0.0, self.arrive)
        while len(self.waits) < JOBS:
            self.now, _, act = heapq.heappop(self._events)
            act()
        return self.waits[WARM_UP:]

    def after(self, delay: float, act: Callable[[], None]) -> None:
        """Let something happen later."""
        heapq.heappush(self._events, (self.now + delay, next(self._order), act))

    def publish(self, region: int) -> None:
        """A summary leaves; each router has it half a round trip later."""
        free = self.regions[region].now
        for router in range(ROUTERS):

            def told(router: int = router) -> None:
                self.seen[router][region] = free
                self.inflight[router][region] = 0

            self.after(self.rtts[router][region] / 2, told)
        self.after(self.period * (0.75 + self.rng.random() / 4), lambda: self.publish(region))

    def arrive(self) -> None:
        """A job comes to a router, and the next one later."""
        self.after(self.rng.expovariate(LOAD * REGIONS * SLOTS), self.arrive)
        router, came = self.rng.randrange(ROUTERS), self.now
        match self.policy:
            case "oracle":
                least = min(range(REGIONS), key=lambda r: (self.regions[r].ahead, r))
                self.start_or_queue(least, came)
            case "ours":
                self.ask(router, came)
            case _:
                self.send(router, self.choose(router), came)

    def choose(self, router: int) -> int:
        """The region that a policy without offers sends to."""
        seen = self.seen[router]
        if self.policy == "best":
            return max(range(REGIONS), key=lambda r: (seen[r], -r))
        if self.policy == "two":
            return max(self.rng.sample(range(REGIONS), 2), key=lambda r: seen[r])
        return self.rng.randrange(REGIONS)

    def send(self, router: int, region: int, came: float) -> None:
        """The job is on its way."""
        delay = self.rtts[router][region] / 2
        self.after(delay, lambda: self.start_or_queue(region, came))

    def start_or_queue(self, region: int, came: float) -> None:
        """A job is at its region."""
        place = self.regions[region]
        place.queue.append(came)
        self.start(region)

    def start(self, region: int) -> None:
        """What waits starts, as far as there is room that nobody was promised."""
        place = self.regions[region]
        while place.queue and place.free > place.held:
            self.begin(region, place.queue.popleft())

    def begin(self, region: int, came: float) -> None:
        """A job runs."""
        self.regions[region].free -= 1
        self.waits.append(self.now - came)
        self.after(self.rng.expovariate(1.0), lambda: self.end(region))

    def end(self, region: int) -> None:
        """A job is done."""
        self.regions[region].free += 1
        self.start(region)

    # --- ours ------------------------------------------------------------------------------------

    def ask(self, router: int, came: float) -> None:
        """Draw two regions and ask both for an offer."""
        free = np.array(self.seen[router])
        under_way = np.array(self.inflight[router], dtype=float)
        room = weights.room(free, under_way, np.full(REGIONS, float(SLOTS)))
        drawn = draw.draw(room.tolist(), self.rng.getrandbits(draw.SEED_BITS), 2)
        offers: dict[int, tuple[bool, int]] = {}
        for region in drawn:
            delay = self.rtts[router][region]
            act = partial(self.offer, region, router, came, offers, len(drawn))
            self.after(delay / 2, act)

    def offer(
        self,
        region: int,
        router: int,
        came: float,
        offers: dict[int, tuple[bool, int]],
        asked: int,
    ) -> None:
        """A region promises a slot if it has one, and answers."""
        place = self.regions[region]
        has_room, ahead = place.now > 0, place.ahead
        if has_room:
            place.held += 1

        def answered() -> None:
            offers[region] = (has_room, ahead)
            if len(offers) == asked:
                self.commit(router, came, offers)

        self.after(self.rtts[router][region] / 2, answered)

    def commit(self, router: int, came: float, offers: dict[int, tuple[bool, int]]) -> None:
        """Take the better offer, let the others go."""
        best = min(offers, key=lambda r: (not offers[r][0], offers[r][1], self.rtts[router][r]))
        self.inflight[router][best] += 1
        for region, (was_held, _) in offers.items():
            delay = self.rtts[router][region] / 2
            if region != best and was_held:
                self.after(delay, partial(self.let_go, region))
        held = offers[best][0]
        self.after(self.rtts[router][best] / 2, lambda: self.assigned(best, came, held=held))

    def let_go(self, region: int) -> None:
        """A promise is not needed any more."""
        self.regions[region].held -= 1
        self.start(region)

    def assigned(self, region: int, came: float, *, held: bool) -> None:
        """The job comes for the slot that it was promised, or waits like everybody."""
        if held:
            self.regions[region].held -= 1
            self.begin(region, came)
        else:
            self.start_or_queue(region, came)


def round_trips(seed: int) -> tuple[Sequence[Sequence[float]], str]:
    """Round trips from each router to each region in service times, and where they are from."""
    rng = random.Random(seed)
    if not DATA.is_file():
        drawn = [[rng.uniform(20, 250) for _ in range(REGIONS)] for _ in range(ROUTERS)]
        return [[ms / 1000 / SERVICE_S for ms in row] for row in drawn], "drawn, 20-250 ms"
    table: dict[str, dict[str, float]] = {}
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["cloud"] == "azure" and row["avg_or_p50_ms"]:
                table.setdefault(row["src"], {})[row["dst"]] = float(row["avg_or_p50_ms"])
    names = sorted(name for name in table if len(table[name]) >= REGIONS)
    rng.shuffle(names)
    regions, routers = names[:REGIONS], names[REGIONS : REGIONS + ROUTERS]
    measured = [[table[a].get(b, 150.0) for b in regions] for a in routers]
    return [[ms / 1000 / SERVICE_S for ms in row] for row in measured], "measured between clouds"


def measure(to: Report) -> None:
    """All policies at all periods."""
    rtts, source = round_trips(1)
    for period in PERIODS:
        means: dict[str, float] = {}
        for policy in POLICIES:
            waits = np.array(Study(policy, period, rtts, seed=7).run())
            means[policy] = float(waits.mean())
            p99 = float(np.quantile(waits, 0.99))
            aim = "<= 20" if policy == "ours" else ""
            name = f"{policy}_wait_at_{period:g}"
            to.add(Figure(f"{name}", means[policy] * 1000, "milli", aim))
            to.add(Figure(f"{name}_p99", p99 * 1000, "milli"))
        worse = means["ours"] - means["two"]
        to.add(
            Figure(f"ours_over_two_at_{period:g}", worse * 1000, "1/1000", f"<= 0; RTT {source}")
        )


if __name__ == "__main__":
    measure(report("stale", __doc__ or ""))
    sys.exit(0)
