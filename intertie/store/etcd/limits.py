"""How long the etcd client waits, how often it asks, and how much it takes in one message."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one client. Seconds unless the name says otherwise.

    A frozen member is noticed after `attempt_s` by a call and after `silence_s` by a watch, so
    these two decide how long a failover takes.
    """

    call_s: float = 6.0
    """One operation over all its attempts."""
    attempt_s: float = 2.0
    """One attempt at one member."""
    beat_s: float = 1.0
    """How often a watch asks its member for a sign of life."""
    silence_s: float = 4.0
    """A watch leaves a member that said nothing for this long."""
    backoff_s: float = 0.05
    """First pause before another attempt; doubles, with jitter, up to `backoff_max_s`."""
    backoff_max_s: float = 1.0
    keepalive_s: float = 10.0
    """HTTP/2 ping interval. etcd ends connections that ping more often than every 5 s."""
    message_bytes: int = 64 * 1024 * 1024
    page_keys: int = 1000
    """Keys read at once when a prefix is listed."""

    def __post_init__(self) -> None:
        assert 0 < self.attempt_s <= self.call_s, self
        assert 0 < self.beat_s < self.silence_s, self
        assert self.keepalive_s >= 6, self
