"""Values that protobuf writes in its own way: durations, instants, and the faults found in them.

Milliseconds on our side. Durations are exact: one that is finer, negative or out of range is
refused, never rounded. Instants are for people and are cut to the millisecond.
"""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

MAX_SECONDS = 315_576_000_000
"""Bound of google.protobuf.Duration: 10,000 years."""

_MIN_INSTANT_S, _MAX_INSTANT_S = -62_135_596_800, 253_402_300_799
_NANOS_PER_MS = 1_000_000
_NANOS_PER_S = 1_000_000_000


class FaultError(Exception):
    """A value that cannot be mapped, with the path of the field as far as it is known."""

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.path = path

    def under(self, name: str) -> "FaultError":
        """The same fault as the message around it sees it."""
        joined = name if not self.path else f"{name}{'' if self.path[0] == '[' else '.'}{self.path}"
        return FaultError(self.text, joined)


def ms_of_duration(duration: Duration) -> int:
    """Milliseconds of a duration that is not negative."""
    seconds, nanos = duration.seconds, duration.nanos
    if seconds < 0 or nanos < 0:
        raise FaultError("a duration must not be negative")
    if seconds > MAX_SECONDS or nanos >= _NANOS_PER_S:
        raise FaultError(f"{seconds} s and {nanos} ns is out of range for a duration")
    if nanos % _NANOS_PER_MS:
        raise FaultError(f"{nanos} ns: durations are kept in whole milliseconds")
    return seconds * 1000 + nanos // _NANOS_PER_MS


def fill_duration(ms: int, duration: Duration) -> None:
    """Write milliseconds into a duration."""
    seconds, rest = divmod(ms, 1000)
    if not 0 <= seconds <= MAX_SECONDS:
        raise FaultError(f"{ms} ms is out of range for a duration")
    duration.seconds = seconds
    duration.nanos = rest * _NANOS_PER_MS


def ms_of_timestamp(timestamp: Timestamp) -> int:
    """Milliseconds since 1970, UTC, cut to whole milliseconds."""
    seconds, nanos = timestamp.seconds, timestamp.nanos
    if not (_MIN_INSTANT_S <= seconds <= _MAX_INSTANT_S and 0 <= nanos < _NANOS_PER_S):
        raise FaultError(f"{seconds} s and {nanos} ns is out of range for an instant")
    return seconds * 1000 + nanos // _NANOS_PER_MS


def fill_timestamp(ms: int, timestamp: Timestamp) -> None:
    """Write milliseconds since 1970, UTC, into a timestamp."""
    seconds, rest = divmod(ms, 1000)
    if not _MIN_INSTANT_S <= seconds <= _MAX_INSTANT_S:
        raise FaultError(f"{ms} ms is out of range for an instant")
    timestamp.seconds = seconds
    timestamp.nanos = rest * _NANOS_PER_MS
