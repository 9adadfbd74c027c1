"""The only place that reads clocks and makes random identifiers.

Ruff bans the functions used here everywhere else, so that simulated time and seeds reach all code.
"""

import secrets
import time
from functools import cached_property
from pathlib import Path

from intertie.ports import Now

_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


class SystemClock:
    """CLOCK_BOOTTIME and UTC of this machine. `offset_ms` shifts UTC only (clock-skew tests)."""

    def __init__(self, offset_ms: int = 0) -> None:
        self._offset_ms = offset_ms

    @cached_property
    def _boot_id(self) -> str:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()

    def now(self) -> Now:
        """Read both clocks."""
        return Now(
            boot_ns=time.clock_gettime_ns(time.CLOCK_BOOTTIME),
            boot_id=self._boot_id,
            utc_ms=time.time_ns() // 1_000_000 + self._offset_ms,
        )


class SystemIds:
    """Identifiers from the operating system's generator."""

    def uuid7(self) -> str:
        """A UUIDv7 (RFC 9562 section 5.7): 48 bits of milliseconds, 74 bits of randomness."""
        ms, drawn = time.time_ns() // 1_000_000, secrets.token_hex(10)
        when, variant = f"{ms:012x}", _VARIANTS[drawn[0]]
        return f"{when[:8]}-{when[8:]}-7{drawn[1:4]}-{variant}{drawn[4:7]}-{drawn[7:19]}"

    def token_hex(self, n_bytes: int) -> str:
        """Unpredictable bytes as hex."""
        return secrets.token_hex(n_bytes)
