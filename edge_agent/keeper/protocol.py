"""The wire between link and keeper: one JSON object per line over a Unix socket.

Requests carry `id` and `op`; each gets one reply with the same `id`. Notifications carry `note`
and no `id`. The first request on a connection must be `hello`. Imported by both sides, so it must
not open a socket, read a clock or decide anything.

    link   -> {"id": 1, "op": "hello", "versions": [1, 1]}
    keeper -> {"id": 1, "ok": true, "result": {"version": 1, "pid": 4711, ...}}
    link   -> {"id": 2, "op": "stop", "run": "...", "token": [1, 4, 1], ...}
    keeper -> {"id": 2, "ok": false, "error": {"reason": "STALE_TOKEN", "field": "token", ...}}
    keeper -> {"note": "ended", "run": {...}}
"""

import json
from typing import Any, Final, NamedTuple

VERSION_OLDEST: Final = 1
VERSION_NEWEST: Final = 1
FEATURES: Final = ("notice", "disk_quota", "log_segments")
OWN_MOUNTS: Final = "own_mounts"
"""The feature of a keeper that may give runs a view of their own of the places below (`mounts`)."""
SHARED_TMP: Final = ("/tmp", "/var/tmp")  # noqa: S108 - the places, not files in them

SOCKET_NAME: Final = "keeper.sock"
MAX_REQUEST_BYTES: Final = 1 << 20
MAX_MESSAGE_BYTES: Final = 8 << 20
"""Bound of what the keeper sends (a `list` of a full table) and so of what link must accept."""

OPS: Final = ("hello", "start", "extend", "stop", "list", "status", "forget", "usage")
NOTES: Final = ("started", "ended", "unkillable")

MALFORMED: Final = "MALFORMED"
UNSUPPORTED_VERSION: Final = "UNSUPPORTED_VERSION"
HELLO_FIRST: Final = "HELLO_FIRST"
UNKNOWN_OP: Final = "UNKNOWN_OP"
INVALID_ARGUMENT: Final = "INVALID_ARGUMENT"
STALE_TOKEN: Final = "STALE_TOKEN"  # noqa: S105 - a reason, not a secret
NOT_FOUND: Final = "NOT_FOUND"
NOT_ENDED: Final = "NOT_ENDED"
TABLE_FULL: Final = "TABLE_FULL"
DEADLINE_PASSED: Final = "DEADLINE_PASSED"
BOOT_MISMATCH: Final = "BOOT_MISMATCH"
STORE_UNAVAILABLE: Final = "STORE_UNAVAILABLE"
SHUTTING_DOWN: Final = "SHUTTING_DOWN"

Body = dict[str, Any]


class ProtocolFault(Exception):  # noqa: N818 - blame is in the reason: the peer's or the world's
    """A request that the keeper refuses: a reason of this module, the field, and what to do."""

    def __init__(self, reason: str, message: str, field: str = "") -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.message = message
        self.field = field

    def to_body(self) -> Body:
        """The `error` object of a reply."""
        return {"reason": self.reason, "message": self.message, "field": self.field}

    @classmethod
    def from_body(cls, body: Body) -> "ProtocolFault":
        """The fault that a reply carries (link side)."""
        return cls(str(body["reason"]), str(body["message"]), str(body.get("field", "")))


class Hello(NamedTuple):
    """What the keeper says of itself in the reply to `hello`."""

    version: int
    pid: int
    boot_id: str
    boot_ns: int
    started_boot_ns: int
    """When this keeper started; a link that saw another value knows that its tasks died."""
    backend: str
    """How tasks are contained, e.g. `cgroup1:memory,pids,freezer,cpu` or `rlimit`."""
    features: tuple[str, ...]

    def to_body(self) -> Body:
        """As JSON."""
        return {**self._asdict(), "features": list(self.features)}

    @classmethod
    def from_body(cls, body: Body) -> "Hello":
        """From JSON (link side); unknown keys of a newer keeper are ignored."""
        known = {name: body[name] for name in cls._fields if name != "features"}
        return cls(**known, features=tuple(body["features"]))


def encode(body: Body) -> bytes:
    """One frame. ASCII with escapes, so that undecodable bytes of argv survive as surrogates."""
    return json.dumps(body, separators=(",", ":")).encode("ascii") + b"\n"


def decode(line: bytes) -> Body:
    """The object in one frame; anything else is MALFORMED."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProtocolFault(MALFORMED, f"send one JSON object per line: {error}") from None
    if not isinstance(body, dict):
        raise ProtocolFault(MALFORMED, "send one JSON object per line, not another value")
    return body


def request(number: int, op: str, **fields: Any) -> bytes:  # noqa: ANN401 - JSON values
    """A request frame (link side)."""
    return encode({"id": number, "op": op, **fields})


def reply(number: int, result: Body) -> bytes:
    """A reply frame."""
    return encode({"id": number, "ok": True, "result": result})


def refusal(number: int, fault: ProtocolFault) -> bytes:
    """A reply frame that says why not."""
    return encode({"id": number, "ok": False, "error": fault.to_body()})


def notification(note: str, run: Body) -> bytes:
    """A notification frame."""
    assert note in NOTES, note
    return encode({"note": note, "run": run})


def agree_version(offered: object) -> int:
    """The newest version that both sides speak, from `[oldest, newest]` of the peer."""
    if not (
        isinstance(offered, list) and len(offered) == 2 and all(type(v) is int for v in offered)
    ):
        raise ProtocolFault(INVALID_ARGUMENT, "give [oldest, newest]", "versions")
    oldest, newest = int(offered[0]), int(offered[1])
    version = min(newest, VERSION_NEWEST)
    if version < max(oldest, VERSION_OLDEST):
        raise ProtocolFault(
            UNSUPPORTED_VERSION,
            f"this keeper speaks {VERSION_OLDEST} to {VERSION_NEWEST}, the peer {oldest} to "
            f"{newest}: upgrade the older of the two",
            "versions",
        )
    return version


class Framer:
    """Cuts a byte stream into frames; refuses a frame above its bound before buffering it all."""

    __slots__ = ("_buffer", "_limit")

    def __init__(self, limit: int = MAX_REQUEST_BYTES) -> None:
        self._buffer = b""
        self._limit = limit

    def feed(self, data: bytes) -> list[bytes]:
        """Complete frames, without their newline. Raises ProtocolFault when one is too long."""
        lines = (self._buffer + data).split(b"\n")
        self._buffer = lines.pop()
        if max(len(self._buffer), *(len(line) for line in lines), 0) > self._limit:
            raise ProtocolFault(MALFORMED, f"a frame may have {self._limit} bytes at most")
        return lines
