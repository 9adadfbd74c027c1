"""One probe of one beacon: send it, wait for its echo, say how long that took.

Each probe has a port of its own that hears nobody but the beacon, and a nonce that nobody can
guess; so nobody else can answer in its place. The time that two busy processes take is part of it.
"""

import asyncio
from collections.abc import Callable

from intertie.latency import is_echo, probe

NS_PER_US = 1_000


class _Answer(asyncio.DatagramProtocol):
    """Knows when the echo came; errors of the way (nobody listens there) end the wait too."""

    def __init__(self, nonce: bytes, now_ns: Callable[[], int]) -> None:
        self._nonce = nonce
        self._now_ns = now_ns
        self.at_ns: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: object) -> None:
        del addr  # the socket is connected
        if is_echo(data, self._nonce) and not self.at_ns.done():
            self.at_ns.set_result(self._now_ns())

    def error_received(self, exc: Exception) -> None:
        del exc  # refused, or no way there: lost like one that is never answered
        if not self.at_ns.done():
            self.at_ns.set_result(None)


async def ask(
    address: str, nonce: bytes, now_ns: Callable[[], int], timeout_s: float
) -> int | None:
    """Round trip to a beacon at host:port in microseconds; None if no echo came in time."""
    host, _, port = address.rpartition(":")
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout_s):
            transport, answer = await loop.create_datagram_endpoint(
                lambda: _Answer(nonce, now_ns), remote_addr=(host.strip("[]"), int(port))
            )
            try:
                sent_ns = now_ns()
                transport.sendto(probe(nonce))
                at_ns = await answer.at_ns
            finally:
                transport.close()
    except (OSError, TimeoutError):  # no such host, no way there, no echo
        return None
    return None if at_ns is None else (at_ns - sent_ns) // NS_PER_US
