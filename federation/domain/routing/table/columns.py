"""What regions advertise, as columns: one row a region, one slot for each class of its nodes.

Filled from members as they change, read by candidate sets. `journal` tells a reader which rows have
changed since it last looked, so that a new summary costs each class one row, not a thousand.
What has many names and few values (software and tags, jurisdictions) is numbered once.
"""

import heapq
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from federation.domain.fleet import MS, Member
from intertie.model.pool import LendingTerms, NodeClass, Shape
from intertie.model.states import RegionState
from intertie.ports import Now

Ints = NDArray[np.int64]
NO_KIND = 0
_SLOTS = ("max_cpu", "max_memory", "max_disk", "max_devices", "device_memory")
_FREE = ("free_cpu", "free_memory", "nodes")


class Columns:
    """See the module's text.

    Args:
        max_age_ms: a row changes by itself when its summary grows older than this.
    """

    def __init__(self, max_age_ms: int) -> None:
        self.regions: list[str] = []
        self.index: dict[str, int] = {}
        self.kinds: list[NodeClass] = [NodeClass(architecture="")]
        self.places: list[str] = []
        self._max_age_ns = max_age_ms * MS
        self._kind_of: dict[object, int] = {}
        self._place_of: dict[str, int] = {}
        self.lending: dict[int, LendingTerms] = {}
        self.suited: dict[Shape, NDArray[np.bool_]] = {}
        self.loads = 0
        self._journal: list[int] = []
        self._dropped = 0
        self._expiry: list[tuple[int, int]] = []
        self._blocks: dict[int, Ints] = {}
        self._allocate(16, 1)

    def _allocate(self, rows: int, slots: int) -> None:
        self.active = np.zeros(rows, bool)
        self.reachable = np.zeros(rows, bool)
        self.summary_ns = np.zeros(rows, np.int64)
        self.health = np.zeros(rows)
        self.inflight = np.zeros(rows)
        self.place = np.zeros(rows, np.int64)
        self.kind: Ints = np.zeros((rows, slots), np.int64)
        self.slots: dict[str, Ints] = {
            name: np.zeros((rows, slots), np.int64) for name in (*_SLOTS, *_FREE)
        }

    def __len__(self) -> int:
        return len(self.regions)

    @property
    def width(self) -> int:
        """Slots of a row."""
        return int(self.kind.shape[1])

    # --- changes ---------------------------------------------------------------------------------

    def update(self, members: Mapping[str, Member], touched: Iterable[str]) -> None:
        """Take over what has changed of these regions."""
        for region in touched:
            row = self.index.get(region)
            if row is None:
                row = self._add(region)
            self._fill(row, members[region])
            self._journal.append(row)
        if len(self._journal) > 64 + 4 * len(self.regions):
            keep = len(self.regions)
            self._dropped += len(self._journal) - keep
            del self._journal[:-keep]

    def load(self, members: Mapping[str, Member], loaded: Iterable[str]) -> None:
        """Take over the sends under way to regions of which nothing else has changed."""
        assert all(region in self.index for region in loaded), "sent to a region without a row"
        for region in loaded:
            self.inflight[self.index[region]] = members[region].inflight
        self.loads += 1

    def advance(self, now: Now) -> None:
        """Mark the rows whose summaries have grown too old meanwhile."""
        while self._expiry and self._expiry[0][0] < now.boot_ns:
            _, row = heapq.heappop(self._expiry)
            self._journal.append(row)

    @property
    def position(self) -> int:
        """Where the journal ends; give it to `since` later."""
        return self._dropped + len(self._journal)

    def since(self, position: int) -> list[int] | None:
        """The rows that changed after a position; None = too many, read everything."""
        assert position <= self.position, "a position that nobody was given"
        if position < self._dropped:
            return None
        if position == self._dropped + len(self._journal):
            return []
        return sorted(set(self._journal[position - self._dropped :]))

    def _add(self, region: str) -> int:
        row = self.index[region] = len(self.regions)
        self.regions.append(region)
        if row >= len(self.active):
            self._grow(2 * len(self.active), self.width)
        return row

    def _grow(self, rows: int, slots: int) -> None:
        old = dict(vars(self))
        self._allocate(rows, slots)
        count, width = old["kind"].shape
        for name in ("active", "reachable", "summary_ns", "health", "inflight", "place"):
            getattr(self, name)[:count] = old[name]
        self.kind[:count, :width] = old["kind"]
        for name, column in old["slots"].items():
            self.slots[name][:count, :width] = column
        for size, column in self._blocks.items():
            self._blocks[size] = np.zeros((rows, slots), np.int64)
            self._blocks[size][:count, :width] = column

    def _fill(self, row: int, member: Member) -> None:
        summary = member.summary
        classes = summary.classes if summary is not None else ()
        if len(classes) > self.width:
            self._grow(len(self.active), len(classes))
        self.active[row] = member.state is RegionState.ACTIVE
        self.reachable[row] = bool(member.link) and summary is not None and summary.accepting
        self.summary_ns[row] = member.summary_ns
        self.health[row] = summary.health if summary is not None else 0.0
        self.inflight[row] = member.inflight
        self.lending.pop(row, None)
        if summary is not None and summary.lending is not None:
            self.lending[row] = summary.lending
        self.place[row] = self._place(member.hello.jurisdiction)
        self.kind[row, :] = NO_KIND
        self.kind[row, : len(classes)] = [self._kind(c) for c in classes]
        for name, column in self.slots.items():
            column[row, : len(classes)] = [getattr(c, name) for c in classes]
        for column in self._blocks.values():
            column[row, :] = 0
        for slot, c in enumerate(classes):
            for size, nodes in c.free_blocks.items():
                if size not in self._blocks:
                    self._blocks[size] = np.zeros(self.kind.shape, np.int64)
                self._blocks[size][row, slot] = nodes
        if summary is not None:
            heapq.heappush(self._expiry, (member.summary_ns + self._max_age_ns, row))

    # --- reads -----------------------------------------------------------------------------------

    def device_units(self, devices: int, rows: Ints) -> Ints:
        """How many units with so many devices fit into the free blocks, by row and slot."""
        assert devices > 0, "a block of no devices"
        units: Ints = np.zeros((len(rows), self.width), np.int64)
        for size, nodes in self._blocks.items():
            if size >= devices:
                units += nodes[rows] * (size // devices)
        return units

    def _kind(self, c: NodeClass) -> int:
        software, tags = frozenset(c.software.items()), frozenset(c.tags.items())
        key = (c.architecture, c.vendor, c.model, software, tags)
        number = self._kind_of.get(key)
        if number is None:
            number = self._kind_of[key] = len(self.kinds)
            self.kinds.append(c)
        return number

    def _place(self, path: str) -> int:
        number = self._place_of.get(path)
        if number is None:
            number = self._place_of[path] = len(self.places)
            self.places.append(path)
        return number
