"""Time and identifiers under the test's control: `Clock` and `IdSource` that never surprise.

Must not read the machine's clock or entropy.
"""

from random import Random

from intertie.ports import Clock, Now

_START_BOOT_NS = 1_000 * 1_000_000_000
_START_UTC_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z


class FakeClock:
    """Stands still until told. The boot clock only goes forward, UTC may be set like a real one."""

    def __init__(self, boot_ns: int = _START_BOOT_NS, utc_ms: int = _START_UTC_MS) -> None:
        self._boot_ns = boot_ns
        self._utc_ns = utc_ms * 1_000_000
        self._boots = 1

    def now(self) -> Now:
        """See `Clock.now`."""
        return Now(self._boot_ns, f"boot-{self._boots}", self._utc_ns // 1_000_000)

    def advance(self, seconds: float) -> Now:
        """Let time pass on both clocks (a suspended host too: the boot clock counts it)."""
        return self.advance_ns(round(seconds * 1_000_000_000))

    def advance_ns(self, duration_ns: int) -> Now:
        """Let whole nanoseconds pass on both clocks."""
        assert duration_ns >= 0, "time does not go back; step_utc does"
        self._boot_ns += duration_ns
        self._utc_ns += duration_ns
        return self.now()

    def step_utc(self, seconds: float) -> Now:
        """Set UTC forward or back, as a time service does; the boot clock stays."""
        self._utc_ns += round(seconds * 1_000_000_000)
        return self.now()

    def reboot(self, off_seconds: float = 30.0) -> Now:
        """Start anew: another boot id, the boot clock from zero, UTC after the time off."""
        self._boots += 1
        self._boot_ns = 0
        self._utc_ns += round(off_seconds * 1_000_000_000)
        return self.now()


class SeededIds:
    """Identifiers that depend on a seed and a clock only: the same run makes the same ids."""

    def __init__(self, seed: int | Random = 0, clock: Clock | None = None) -> None:
        self._random = seed if isinstance(seed, Random) else Random(seed)  # noqa: S311 - for tests
        self._clock = FakeClock() if clock is None else clock
        self._last = 0

    def uuid7(self) -> str:
        """See `IdSource.uuid7`: ids of one source sort in the order in which they were made."""
        fresh = self._clock.now().utc_ms << 74 | self._random.getrandbits(74)
        self._last = max(fresh, self._last + 1)
        high, low = self._last >> 62, self._last & ((1 << 62) - 1)
        value = (high >> 12) << 80 | 0x7 << 76 | (high & 0xFFF) << 64 | 0x2 << 62 | low
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def token_hex(self, n_bytes: int) -> str:
        """See `IdSource.token_hex`."""
        return self._random.randbytes(n_bytes).hex()
