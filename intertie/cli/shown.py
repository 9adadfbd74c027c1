"""Values as people read them in a cell: instants, durations, sizes, shares."""

from datetime import UTC, datetime

from intertie.clock import SystemClock
from intertie.model.units import format_milli, format_millis

_SIZES = ("PiB", "TiB", "GiB", "MiB", "KiB")


def instant(ms: int) -> str:
    """An instant in UTC, to the millisecond; empty for 0."""
    if not ms:
        return ""
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"


def age(ms: int) -> str:
    """How long ago an instant was, in one unit; empty for 0."""
    return coarse(max(0, SystemClock().now().utc_ms - ms)) if ms else ""


def coarse(ms: int) -> str:
    """A duration in its largest unit."""
    for unit, length in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000)):
        if ms >= 2 * length:
            return f"{ms // length}{unit}"
    return f"{ms // 1000}s"


def duration(ms: int) -> str:
    """A duration, exact; empty for 0."""
    return format_millis(ms) if ms else ""


def size(n_bytes: int) -> str:
    """A size with one decimal in its largest unit."""
    for power, unit in zip((50, 40, 30, 20, 10), _SIZES, strict=True):
        if n_bytes >= 1 << power:
            return f"{n_bytes / (1 << power):.1f}{unit}"
    return f"{n_bytes}B"


def cores(milli: int) -> str:
    """Thousandths of a core as cores."""
    return format_milli(milli)


def number(value: int | None) -> str:
    """A number; empty for none."""
    return "" if value is None else str(value)


def short(text: str, width: int = 60) -> str:
    """The first line of a text, cut to a width."""
    first = text.partition("\n")[0]
    return first if len(first) <= width else first[: width - 3] + "..."
