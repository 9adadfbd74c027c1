"""The beacon: a UDP port that echoes probes, for whoever wants to know how far this region is.

It answers without knowing who asks, so it must be useless to abuse: an answer is as long as its
question, what is no probe gets none, and the rate is bounded, for all together and for each host.
"""

import asyncio
from collections import OrderedDict
from typing import cast

from intertie.errors import Reason, error
from intertie.latency import echo
from intertie.ports import Clock

MOST_HOSTS = 1_024
"""Hosts whose rate is remembered; the longest silent is forgotten first."""
SHARE = 4
"""A single host gets at most one in so many of all answers."""

_S = 1_000_000_000


class Rate:
    """A token bucket that holds the tokens of one second; full at the start."""

    def __init__(self, per_s: int, now_ns: int) -> None:
        self._per_s = per_s
        self._tokens = float(per_s)
        self._at_ns = now_ns

    def take(self, now_ns: int) -> bool:
        """Take a token, if there is one."""
        grown = (now_ns - self._at_ns) / _S * self._per_s
        self._tokens = min(float(self._per_s), self._tokens + grown)
        self._at_ns = now_ns
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class Echo(asyncio.DatagramProtocol):
    """See the module's text.

    Args:
        clock: time.
        per_s: answers a second, all hosts together.
    """

    def __init__(self, clock: Clock, per_s: int) -> None:
        self._clock = clock
        self._per_host = max(1, per_s // SHARE)
        self._all = Rate(per_s, clock.now().boot_ns)
        self._hosts: OrderedDict[str, Rate] = OrderedDict()
        self._transport: asyncio.DatagramTransport | None = None
        self.answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep where answers go."""
        # asyncio's own class of UDP does not derive from DatagramTransport.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer a probe."""
        answer = echo(data)
        if answer is None or not self._may_answer(addr[0]):
            return
        assert self._transport is not None, "a datagram before its transport"
        self._transport.sendto(answer, addr)
        self.answered += 1

    def _may_answer(self, host: str) -> bool:
        now_ns = self._clock.now().boot_ns
        rate = self._hosts.get(host) or Rate(self._per_host, now_ns)
        self._hosts[host] = rate
        self._hosts.move_to_end(host)
        if len(self._hosts) > MOST_HOSTS:
            self._hosts.popitem(last=False)
        return rate.take(now_ns) and self._all.take(now_ns)


class Beacon:
    """The port of an `Echo`.

    Args:
        clock: time.
        listen: host:port over UDP; port 0 lets the system choose.
        per_s: answers a second.
    """

    def __init__(self, clock: Clock, listen: str, per_s: int) -> None:
        self._listen = listen
        self._echo = Echo(clock, per_s)
        self._transport: asyncio.DatagramTransport | None = None
        self.port = 0

    @property
    def answered(self) -> int:
        """Probes that were echoed."""
        return self._echo.answered

    async def start(self) -> None:
        """Listen. Raises CONFIG_INVALID if the address cannot be had."""
        host, _, port = self._listen.rpartition(":")
        loop = asyncio.get_running_loop()
        try:
            self._transport, _ = await loop.create_datagram_endpoint(
                lambda: self._echo, local_addr=(host.strip("[]"), int(port))
            )
        except OSError as problem:
            raise error(
                Reason.CONFIG_INVALID,
                f"beacon.listen: {self._listen} cannot be used: {problem.strerror or problem}.",
                remedy="Set a free UDP port of this machine as host:port.",
            ) from None
        self.port = self._transport.get_extra_info("sockname")[1]

    async def stop(self) -> None:
        """Close the port; idempotent."""
        if self._transport is not None:
            self._transport.close()
            self._transport = None
