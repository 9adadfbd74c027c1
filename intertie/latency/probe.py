"""A probe and its echo as bytes: both 24, so that a beacon never sends more than it was sent.

An echo repeats the nonce, which nobody can know before the probe has come: an echo may be late, but
never early. An echo is no probe, so that two beacons cannot keep each other busy.
"""

_PROBE, _ECHO = b"ITprobe1", b"ITecho_1"
NONCE = 16
SIZE = len(_PROBE) + NONCE


def probe(nonce: bytes) -> bytes:
    """What is sent to a beacon."""
    assert len(nonce) == NONCE, "a nonce of 16 bytes"
    return _PROBE + nonce


def echo(datagram: bytes) -> bytes | None:
    """What a beacon answers; None if it is no probe."""
    if len(datagram) != SIZE or not datagram.startswith(_PROBE):
        return None
    return _ECHO + datagram[len(_PROBE) :]


def is_echo(datagram: bytes, nonce: bytes) -> bool:
    """Whether this answers the probe with this nonce."""
    return datagram == _ECHO + nonce
