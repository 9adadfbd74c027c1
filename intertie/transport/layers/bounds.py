"""Bounds per identity: calls by a token bucket, streams by a count. Beyond: RESOURCE_EXHAUSTED.

Buckets of identities that went quiet are forgotten, oldest first, so the table stays small. A
forgotten bucket starts full, which is what it would have become.
"""

from collections import OrderedDict
from dataclasses import dataclass

from intertie.errors import Reason, error
from intertie.pki.spiffe import Role
from intertie.transport.call import Call

NS = 1_000_000_000
MAX_BUCKETS = 10_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Per identity: calls a second on average, how many at once, and open streams."""

    calls_per_s: float = 2000.0
    burst: int = 4000
    streams: int = 200


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_ns: int
    streams: int = 0


class BoundsLayer:
    """Counts calls and streams by identity; peers without one by their address."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def enter(self, call: Call) -> None:
        """Take a token, and a place for a stream."""
        bucket = self._bucket(_key(call), call.arrived.boot_ns)
        if bucket.tokens < 1.0:
            wait_ms = int((1.0 - bucket.tokens) / self._limits.calls_per_s * 1000) + 1
            raise error(
                Reason.RATE_LIMITED,
                f"{call.identity} makes over {self._limits.calls_per_s:g} calls a second.",
                remedy="Send batches, or wait.",
                retry_after_ms=wait_ms,
            )
        if call.streaming and bucket.streams >= self._limits.streams:
            raise error(
                Reason.RATE_LIMITED,
                f"{call.identity} has {bucket.streams} streams open, as many as are allowed.",
                remedy="Close some first.",
                retry_after_ms=1000,
            )
        bucket.tokens -= 1.0
        bucket.streams += call.streaming

    def message(self, call: Call) -> None:
        """Messages are bounded by flow control and the message size."""

    def leave(self, call: Call, _code: str) -> None:
        """Give the place of a stream back."""
        if call.streaming:
            self._buckets[_key(call)].streams -= 1

    def _bucket(self, key: str, now_ns: int) -> _Bucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            self._forget_quiet()
            bucket = self._buckets[key] = _Bucket(float(self._limits.burst), now_ns)
            return bucket
        self._buckets.move_to_end(key)
        gained = (now_ns - bucket.filled_ns) / NS * self._limits.calls_per_s
        bucket.tokens = min(float(self._limits.burst), bucket.tokens + gained)
        bucket.filled_ns = now_ns
        return bucket

    def _forget_quiet(self) -> None:
        if len(self._buckets) < MAX_BUCKETS:
            return
        for key, bucket in self._buckets.items():
            if bucket.streams == 0:
                del self._buckets[key]
                return


def _key(call: Call) -> str:
    if call.identity.role is Role.ANONYMOUS:
        return call.context.peer().rpartition(":")[0]
    return str(call.identity)
