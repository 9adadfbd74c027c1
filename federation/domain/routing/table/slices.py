"""The rows of the columns that changed together, with what does not depend on the class of a task.

Many candidate sets follow the same changes: what they all read is gathered once, and classes of
the same shape count room once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from federation.domain.fleet import MS
from federation.domain.routing.facts import Facts
from federation.domain.routing.filters import FILTERS
from federation.domain.routing.fitting import suits
from federation.domain.routing.known.lent import left_units
from federation.domain.routing.table.columns import NO_KIND, Columns
from federation.domain.routing.weights import Floats
from intertie.model.pool import Shape

Bits = NDArray[np.uint16]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]
Shorts = NDArray[np.int16]

BIT = {row.name: np.uint16(1 << number) for number, row in enumerate(FILTERS)}


@dataclass(frozen=True, slots=True)
class Room:
    """By row: free units, capacity, the first variant that fits, and its first slot (-1: none)."""

    free: Floats
    capacity: Floats
    variant: Shorts
    slot: Shorts


class Slice:
    """See the module's text. `fails` has the bits of the filters that ask no task."""

    def __init__(self, columns: Columns, rows: Rows, facts: Facts) -> None:
        self.rows = rows
        self._columns = columns
        assert len(rows) <= len(columns), "each row once"
        self._kind = columns.kind[rows]
        self._slots = {name: column[rows] for name, column in columns.slots.items()}
        self._devices: dict[int, Rows] = {}
        self._rooms: dict[tuple[Shape, ...], Room] = {}
        age = facts.now.boot_ns - columns.summary_ns[rows]
        fresh = columns.reachable[rows] & (age <= facts.timing.summary_max_age_ms * MS)
        self.fails: Bits = np.where(columns.active[rows], np.uint16(0), BIT["state"])
        self.fails |= np.where(fresh, np.uint16(0), BIT["reachable"])

    def room(self, shapes: tuple[Shape, ...]) -> Room:
        """Room for a task that may run in any of these shapes, the first before the others."""
        found = self._rooms.get(shapes)
        if found is None:
            found = self._rooms[shapes] = self._count(shapes)
        return found

    def _count(self, shapes: tuple[Shape, ...]) -> Room:
        count = len(self.rows)
        free, capacity = np.zeros(count), np.zeros(count)
        variant, slot = np.full(count, -1, np.int16), np.full(count, -1, np.int16)
        for number, shape in enumerate(shapes):
            fits = self._fits(shape)
            new = fits.any(axis=1) & (variant < 0)
            if not new.any():
                continue
            units, most = self._units(shape)
            free = np.where(new, (units * fits).sum(axis=1), free)
            capacity = np.where(new, (most * fits).sum(axis=1), capacity)
            variant = np.where(new, np.int16(number), variant)
            slot = np.where(new, fits.argmax(axis=1).astype(np.int16), slot)
        for at, row in enumerate(self.rows.tolist() if self._columns.lending else ()):
            terms = self._columns.lending.get(row)
            if terms is not None and variant[at] >= 0:
                free[at] = min(free[at], left_units(shapes[variant[at]], terms))
        return Room(free, capacity, variant, slot)

    def _fits(self, shape: Shape) -> Flags:
        slots = self._slots
        fits: Flags = kinds_that_suit(self._columns, shape)[self._kind]
        fits &= slots["max_cpu"] >= shape.cpu
        fits &= slots["max_memory"] >= shape.memory
        fits &= slots["max_disk"] >= shape.disk
        if shape.devices:
            fits &= slots["max_devices"] >= shape.devices
            fits &= slots["device_memory"] >= shape.device_memory
        return fits

    def _units(self, shape: Shape) -> tuple[Rows, Rows]:
        slots = self._slots
        units = slots["free_cpu"] // shape.cpu
        np.minimum(units, slots["free_memory"] // shape.memory, out=units)
        if shape.devices:
            np.minimum(units, self._device_units(shape.devices), out=units)
        return units, slots["nodes"] * np.maximum(1, slots["max_cpu"] // shape.cpu)

    def _device_units(self, devices: int) -> Rows:
        units = self._devices.get(devices)
        if units is None:
            units = self._devices[devices] = self._columns.device_units(devices, self.rows)
        return units


def kinds_that_suit(columns: Columns, shape: Shape) -> Flags:
    """Which kinds of nodes can run a shape, whatever their size; kept with the columns."""
    known = columns.suited.get(shape)
    if known is None or len(known) < len(columns.kinds):
        start = 0 if known is None else len(known)
        more = np.array([suits(shape, kind) for kind in columns.kinds[start:]], bool)
        known = more if known is None else np.concatenate([known, more])
        known[NO_KIND] = False
        if len(columns.suited) >= MAX_SHAPES:
            columns.suited.clear()
        columns.suited[shape] = known
    return known


MAX_SHAPES = 10_000
