"""Whatever happens, in whatever order: what holds after each event of a random history."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intertie.drive.effects import Tick
from intertie.model.agentlink import AckRun, StartRun, StopRun
from intertie.model.link import CancelRun, RunClosed
from intertie.model.pool import NodeCapability
from intertie.model.spec import Accelerators, Resources, RunSpec, TaskSpec, Tolerance
from intertie.model.states import OnDisconnect, RunState
from intertie.model.token import Epoch, Token
from regional.domain.events import Evict, FederationDown, RemoveNode, ToNode

GIB = 1 << 30
BIG = 1 << 50
NODES = ("n1", "n2")
FIRST = Epoch(1, 0)


@dataclass
class Agent:
    """What a node really has, by the orders that reached it."""

    held: dict[tuple[str, Token], StartRun] = field(default_factory=dict)
    intervals: dict[tuple[str, Token], int] = field(default_factory=dict)
    ended: dict[tuple[str, Token], int] = field(default_factory=dict)
    keeper: int = 1


class History:
    """Applies random steps to a region and its scripted nodes, and checks after each."""

    def __init__(self, region: Any, ask: Any, draw: Any) -> None:
        self.region, self.ask, self.draw = region, ask, draw
        self.agents = {node: Agent() for node in NODES}
        self.tokens: dict[str, Token] = {}
        self.closed: dict[str, Epoch] = {}
        self.tasks: list[str] = []
        self.steps = {
            "assign": self.assign,
            "attach": self.attach,
            "detach": self.detach,
            "crash": self.crash,
            "progress": self.progress,
            "sample": self.sample,
            "end": self.end,
            "cancel": self.cancel,
            "evict": self.evict,
            "remove": self.remove,
            "time": self.time,
            "restart": self.restart,
            "relink": self.relink,
        }

    def step(self) -> None:
        self.steps[self.draw(st.sampled_from(sorted(self.steps)))]()
        self.check()

    def take(self, out: list[object]) -> None:
        """Let what was sent reach the nodes."""
        for effect in out:
            if not isinstance(effect, ToNode) or effect.node not in self.region.links:
                continue
            agent, message = self.agents[effect.node], effect.message
            match message:
                case StartRun():
                    agent.held.setdefault((message.task, message.token), message)
                    self.check_devices(agent)
                case StopRun() if (message.task, message.token) in agent.held:
                    self.finish(effect.node, (message.task, message.token), 15)
                case AckRun():
                    agent.held.pop((message.task, message.token), None)

    # --- steps -----------------------------------------------------------------------------------

    def assign(self) -> None:
        moves = self.draw(st.booleans())
        spec = TaskSpec(
            run=RunSpec(command=("x",)),
            resources=Resources(
                cpu=self.draw(st.sampled_from([500, 1_000, 3_000])),
                memory=GIB,
                disk=GIB,
                accelerators=Accelerators(count=self.draw(st.integers(0, 2))),
            ),
            tolerance=Tolerance(on_disconnect=OnDisconnect.MOVE if moves else OnDisconnect.STAY),
        )
        again = self.tasks and self.draw(st.integers(0, 3)) == 0
        task = self.draw(st.sampled_from(self.tasks)) if again else ""
        epoch = Epoch(1, self.draw(st.integers(1, 3)))
        if task in self.closed and epoch <= self.closed[task]:
            return  # a federation that closed an epoch has its end on disk and never repeats it
        caps = {"mem.held_mib_ms": BIG, "accelerator.held_device_ms": BIG}
        caps["cpu.held_core_ms"] = self.draw(st.sampled_from([700, 3_000, BIG]))
        task, out = self.region.assign(spec, task, epoch=epoch, caps=caps)
        self.tasks.append(task)
        self.take(out)

    def attach(self) -> None:
        node = self.draw(st.sampled_from(NODES))
        agent = self.agents[node]
        live = [order for key, order in agent.held.items() if key not in agent.ended]
        self.take(
            self.region.attach(
                node,
                keeper=f"k{agent.keeper}",
                runs=live,
                capability=self.capability(),
            )
        )

    def capability(self) -> Any:
        return NodeCapability(
            cpu=4_000,
            memory=8 * GIB,
            disk=64 * GIB,
            architecture="x86_64",
            devices=self.ask.devices(2),
        )

    def detach(self) -> None:
        node = self.draw(st.sampled_from(NODES))
        if node in self.region.links:
            self.take(self.region.detach(node))

    def crash(self) -> None:
        """The keeper dies: link and runs with it."""
        node = self.draw(st.sampled_from(NODES))
        self.agents[node] = Agent(keeper=self.agents[node].keeper + 1)
        if node in self.region.links:
            self.take(self.region.detach(node))

    def pick(self) -> tuple[str, tuple[str, Token]] | None:
        found = [
            (node, key)
            for node in self.region.links
            for key in self.agents[node].held
            if key not in self.agents[node].ended
        ]
        return self.draw(st.sampled_from(found)) if found else None

    def progress(self) -> None:
        picked = self.pick()
        if picked is not None:
            node, key = picked
            self.take(self.region.runs_on(node, self.agents[node].held[key]))

    def sample(self) -> None:
        picked = self.pick()
        if picked is None:
            return
        node, key = picked
        agent = self.agents[node]
        interval = agent.intervals.get(key, 0) + 1
        out = self.region.sample(node, agent.held[key], interval)
        if out:
            agent.intervals[key] = interval
        self.take(out)

    def end(self) -> None:
        picked = self.pick()
        if picked is not None:
            node, key = picked
            self.finish(node, key, self.draw(st.sampled_from([0, 1, 9, 10])))

    def finish(self, node: str, key: tuple[str, Token], status: int) -> None:
        """The last sample, then the end; told by the present link only."""
        agent = self.agents[node]
        order = agent.held[key]
        agent.ended[key] = status
        if node not in self.region.links:
            return
        interval = agent.intervals.get(key, 0) + 1
        agent.intervals[key] = interval
        self.take(self.region.sample(node, order, interval, final=True))
        known = {
            9: {"unkillable": "1"},
            10: {"unkillable": "1", "lost": "1"},
            15: {"stopped": "1"},
        }
        evidence = known.get(status, {})
        exit_code = status if status < 9 else None
        claim_ms = self.draw(st.sampled_from([0, 1_000, 30_000, BIG]))
        signal = 9 * (status >= 9)
        self.take(
            self.region.ends(
                node,
                order,
                exit_code=exit_code,
                signal=signal,
                evidence=evidence,
                boot_ms=claim_ms,
            )
        )

    def cancel(self) -> None:
        if self.tasks:
            task = self.draw(st.sampled_from(self.tasks))
            epoch = Epoch(1, self.draw(st.integers(1, 3)))
            self.take(self.region.said(CancelRun(task=task, epoch=epoch, reason="enough")))

    def evict(self) -> None:
        if self.tasks:
            task = self.draw(st.sampled_from(self.tasks))
            event = Evict(ticket=9, task=task, reason="p", request_id="e", request_digest="d")
            self.take(self.region.do(event))

    def remove(self) -> None:
        """An operator says that a node is dead, which need not be true."""
        node = self.draw(st.sampled_from(NODES))
        event = RemoveNode(ticket=8, node=node, reason="p", request_id="r", request_digest="d")
        self.take(self.region.do(event))

    def time(self) -> None:
        self.region.pass_ms(self.draw(st.sampled_from([100, 2_000, 8_000])))
        for node in list(self.region.links):
            self.take(self.region.beat(node))
        if self.draw(st.booleans()):
            self.take(self.region.renew())
        self.take(self.region.do(Tick()))

    def restart(self) -> None:
        self.region.restart()
        self.region.attach_upward()

    def relink(self) -> None:
        self.region.do(FederationDown(link=self.region.link))
        out = self.region.attach_upward()
        self.take(out)
        for run in list(self.region.core.runs.values()):
            if not run.is_live:
                self.closed[run.task] = max(self.closed.get(run.task, FIRST), run.token.epoch)
                self.take(self.region.said(RunClosed(task=run.task, token=run.token)))

    # --- what holds ------------------------------------------------------------------------------

    def check(self) -> None:
        self.check_room()
        ends = [(r["task"], r["run"].partition(".")[0]) for r in self.region.records("run_end")]
        assert len(ends) == len(set(ends)), "one run_end per run"
        for run in self.runs():
            before = self.tokens.get(run.key)
            assert before is None or before <= run.token, "tokens grow"
            self.tokens[run.key] = run.token
            name = (run.task.rpartition("/")[2], str(run.token.epoch))
            assert (name in ends) == (run.state is RunState.ENDED), "an end has its record"
            assert 0 <= run.lost_ms <= run.run_ms <= self.longest_ms(run)
            assert not (run.node and run.node in run.excluded and run.is_live), "I10"
        self.check_usage()

    def check_devices(self, agent: Agent) -> None:
        """No order gives a device to a run while another one really has it (I6)."""
        live = [order for key, order in agent.held.items() if key not in agent.ended]
        devices = [index for order in live for index in order.devices]
        assert len(devices) == len(set(devices)), "a device is given twice"

    def longest_ms(self, run: Any) -> float:
        """No run has run longer than the time since it was queued, whatever its nodes claim."""
        timing = self.region.core.timing
        passed_ms = self.region.now.utc_ms - run.queued_ms
        longest: float = passed_ms * (1 + 2 * timing.drift) + run.placements * timing.delta_ms
        return longest

    def runs(self) -> list[Any]:
        return [v for (kind, _), v in self.region.rows.items() if kind in ("run", "done")]

    def check_room(self) -> None:
        for node in self.region.core.nodes.values():
            live = [r for r in self.region.live() if r.node == node.id and r.is_live]
            assert {r.key for r in live} == set(node.held.runs)
            unfenced = [
                v
                for (kind, _), v in self.region.rows.items()
                if kind == "unfenced" and v.node == node.id
            ]
            assert {r.placement for r in unfenced} == set(node.held.unfenced)
            live += unfenced
            capability = node.hello.capability
            assert sum(r.shape.cpu for r in live) == node.held.cpu <= capability.cpu
            assert sum(r.shape.memory for r in live) == node.held.memory <= capability.memory
            devices = [index for r in live for index in r.devices]
            assert len(devices) == len(set(devices)), "a device is held once"
        assert self.region.core.running == sum(
            1 for r in self.region.live() if r.is_live and r.node
        )

    def check_usage(self) -> None:
        """Usage is complete whenever the last sample came before the end of each placement.

        Never is more billed than was granted, over all placements of an epoch.
        """
        for run in self.runs():
            name = (run.task.rpartition("/")[2], str(run.token.epoch))
            for meter, cap in run.caps.items():
                billed = sum(
                    r["quantity"]
                    for r in self.region.records("usage")
                    if (r["task"], r["run"].partition(".")[0]) == name and r["meter"] == meter
                )
                assert billed == run.billed.get(meter, 0) <= cap
        for end in self.region.records("run_end"):
            assert end["useful_ms"] + end["lost_ms"] == end["boot_ms"], "run time is told apart"
            assert end["reclaimed_ms"] <= end["lost_ms"]
            usage = [
                r
                for r in self.region.records("usage")
                if (r["task"], r["run"]) == (end["task"], end["run"])
                and r["meter"] == "cpu.used_core_ms"
            ]
            intervals = sorted(int(r["rid"].split("/")[3]) for r in usage)
            assert intervals == list(range(1, len(intervals) + 1)), "intervals without gaps"
            if end["outcome"] == "SUCCEEDED":
                is_first_placement = str(end["run"]).rpartition(".")[2] == "1"
                assert end["complete"] or not is_first_placement
                assert end["lost_ms"] <= end["useful_ms"] + end["lost_ms"]


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data(), length=st.integers(5, 45))
def test_what_must_hold_holds_after_every_event_of_any_history(
    make_region: Any, ask: Any, data: Any, length: Any
) -> None:
    history = History(make_region(), ask, data.draw)
    history.region.attach_upward()
    history.attach()
    for _ in range(length):
        history.step()
