"""The meters: what is counted, in which base unit, and in which unit it is priced.

`*.held_*` is what a run kept others from using and is billable; `*.used_*` informs. Names and base
units are fixed for ever (metering.md): a new meter is added, an old one is never changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Meter:
    """One meter.

    Args:
        name: as it stands in records.
        unit: base unit of `quantity`, an integer.
        pricing_unit: what a price list quotes a price for.
        per_pricing_unit: how many base units one pricing unit has.
        billable: whether a price may be set on it and a grant caps it.
        held: whether it is a possession over an interval, so that intervals may not overlap.
    """

    name: str
    unit: str
    pricing_unit: str
    per_pricing_unit: int
    billable: bool
    held: bool


_ALL = (
    Meter("cpu.held_core_ms", "core ms", "core-hour", HOUR_MS, True, True),
    Meter("cpu.used_core_ms", "core ms", "core-hour", HOUR_MS, False, False),
    Meter("accelerator.held_device_ms", "device ms", "device-hour", HOUR_MS, True, True),
    Meter("accelerator.used_device_ms", "device ms", "device-hour", HOUR_MS, False, False),
    Meter("cu.held_ms", "CU ms", "CU-hour", HOUR_MS, True, True),
    Meter("mem.held_mib_ms", "MiB ms", "GiB-hour", 1024 * HOUR_MS, True, True),
    Meter("mem.used_mib_ms", "MiB ms", "GiB-hour", 1024 * HOUR_MS, False, False),
    Meter("storage.held_mib_ms", "MiB ms", "GiB-hour", 1024 * HOUR_MS, True, True),
    Meter("energy.used_mj", "mJ", "kWh", 3_600_000_000, False, False),
    Meter("net.egress_bytes", "byte", "GiB", 1 << 30, True, False),
)

METERS: Mapping[str, Meter] = {meter.name: meter for meter in _ALL}
