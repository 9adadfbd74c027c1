"""What a device model can do, from its vendor's data sheet: the nominal half of its capability.

Used where nothing was measured, and marked `nominal` wherever it is shown. A model that is not in
the table is unknown, never guessed. BF16 dense; FP16 where a device has no BF16.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Nominal:
    """One model. `bf16` in TFLOPS; `memory_bandwidth` and `link` (both directions) in GB/s."""

    name: str
    vendor: str
    bf16: float
    memory_bandwidth: float
    link: float


def _nvidia(name: str, bf16: float, memory_bandwidth: float, link: float) -> Nominal:
    return Nominal(
        name=name, vendor="nvidia", bf16=bf16, memory_bandwidth=memory_bandwidth, link=link
    )


_TABLE: Sequence[tuple[str, Nominal]] = (
    (r"\bB200\b", _nvidia("B200-SXM", 2250, 8000, 1800)),
    (r"\bH200\b", _nvidia("H200-SXM", 989, 4800, 900)),
    (r"\bH20\b", _nvidia("H20", 148, 4000, 900)),
    (r"\bH800\b", _nvidia("H800-SXM5", 989, 3350, 400)),
    (r"\bH100\b.*\bNVL\b", _nvidia("H100-NVL", 835, 3900, 600)),
    (r"\bH100\b.*\bPCIe\b", _nvidia("H100-PCIe", 756, 2000, 600)),
    (r"\bH100\b.*\bHBM3\b", _nvidia("H100-SXM5", 989, 3350, 900)),
    (r"\bA800-SXM4-80GB\b", _nvidia("A800-80-SXM4", 312, 2039, 400)),
    (r"\bA100-SXM4-80GB\b", _nvidia("A100-80-SXM4", 312, 2039, 600)),
    (r"\bA100-SXM4-40GB\b", _nvidia("A100-40-SXM4", 312, 1555, 600)),
    (r"\bL40S\b", _nvidia("L40S", 362, 864, 64)),
    (r"\bL40\b", _nvidia("L40", 181, 864, 64)),
    (r"\bL20\b", _nvidia("L20", 119.5, 864, 64)),
    (r"\bL4\b", _nvidia("L4", 121, 300, 64)),
    (r"\bA30\b", _nvidia("A30", 165, 933, 200)),
    (r"\bA10G\b", _nvidia("A10G", 70, 600, 64)),
    (r"\bA10\b", _nvidia("A10", 125, 600, 64)),
    (r"\bT4\b", _nvidia("T4", 65, 320, 32)),
    (r"\bV100-SXM2\b", _nvidia("V100-SXM2-16/32", 125, 900, 300)),
    (r"\bRTX 4090\b", _nvidia("RTX 4090", 165.2, 1008, 64)),
    (
        r"\bMI300X\b",
        Nominal(name="MI300X", vendor="amd", bf16=1307, memory_bandwidth=5300, link=896),
    ),
    (
        r"\bMI210\b",
        Nominal(name="MI210", vendor="amd", bf16=181, memory_bandwidth=1638, link=300),
    ),
)
"""Searched in this order in the name that a driver gives."""


@lru_cache(maxsize=256)
def nominal(vendor: str, model: str) -> Nominal | None:
    """The data sheet of a model as its driver names it; None if it is not known."""
    return next(
        (
            known
            for pattern, known in _TABLE
            if known.vendor == vendor and re.search(pattern, model)
        ),
        None,
    )
