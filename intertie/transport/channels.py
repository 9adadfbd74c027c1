"""Channels that outlive certificates: built anew when the identity rotates, old ones closed.

gRPC has no reload on the client's side, and an expired client goes on working on an open connection
until the server cuts it. So the directory is looked at every `LOOK_S` seconds; whoever asks for a
channel afterwards gets one with the new leaf, and calls on the old one have `GRACE_S` to end.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import grpc.aio

from intertie.errors import IntertieError
from intertie.pki.load import IdentityDirectory
from intertie.ports import Clock
from intertie.telemetry.logs import logger
from intertie.telemetry.metrics import CERTIFICATE_END, CHANNELS_REBUILT
from intertie.telemetry.registry import Metrics
from intertie.transport.channel import ChannelOptions, open_channel
from intertie.transport.credentials import channel_credentials

LOOK_S = 10.0
GRACE_S = 30.0

Stub = TypeVar("Stub")

_log = logger(__name__)


@dataclass(slots=True)
class _Open:
    channel: grpc.aio.Channel
    stubs: dict[Callable[..., Any], object] = field(default_factory=dict)


class Channels:
    """The channels of one identity, by target and server name. For one event loop.

    Args:
        identity: our own identity; whoever renews it writes into the directory.
        clock: told to servers with each call.
        metrics: where rebuilding is counted.
        options: bounds and timings of the channels.
        grace_s: how long calls on a replaced channel may last.
    """

    def __init__(
        self,
        identity: IdentityDirectory,
        clock: Clock,
        metrics: Metrics,
        *,
        options: ChannelOptions = ChannelOptions(),  # noqa: B008 - frozen
        grace_s: float = GRACE_S,
    ) -> None:
        self._identity = identity
        self._clock = clock
        self._metrics = metrics
        self._options = options
        self._grace_s = grace_s
        self._credentials = identity.current
        self._tell_end()
        self._open: dict[tuple[str, str], _Open] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None

    def start(self, look_s: float = LOOK_S) -> None:
        """Begin to look for rotations, on the running loop."""
        assert self._looking is None, "started once"
        self._looking = asyncio.create_task(self._look(look_s))

    def get(self, target: str, server_name: str) -> grpc.aio.Channel:
        """The current channel; ask again for each call or stream rather than keeping it."""
        return self._entry(target, server_name).channel

    def stub(self, target: str, server_name: str, make: Callable[..., Stub]) -> Stub:
        """A generated stub (`TaskServiceStub`) on the current channel, made once per channel."""
        entry = self._entry(target, server_name)
        stub = entry.stubs.get(make)
        if stub is None:
            stub = entry.stubs[make] = make(entry.channel)
        return cast(Stub, stub)

    def refresh(self) -> bool:
        """Replace all channels if the identity was rotated; True if so.

        Raises:
            IntertieError: CONFIG_INVALID if the files are unusable; the old channels stay.
        """
        self._identity.refresh()
        if self._identity.current is self._credentials:
            return False
        self._credentials = self._identity.current
        self._tell_end()
        replaced, self._open = self._open, {}
        for entry in replaced.values():
            self._metrics.counter(CHANNELS_REBUILT).inc()
            task = asyncio.create_task(entry.channel.close(self._grace_s))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        return True

    async def close(self) -> None:
        """Close everything now."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        for task in self._closing:
            task.cancel()
        await asyncio.gather(*self._closing, return_exceptions=True)
        channels = [entry.channel for entry in self._open.values()]
        self._open.clear()
        await asyncio.gather(*(channel.close() for channel in channels))

    def _tell_end(self) -> None:
        end_s = self._credentials.identity.not_after_ms / 1000
        self._metrics.gauge(CERTIFICATE_END).set(end_s)

    def _entry(self, target: str, server_name: str) -> _Open:
        key = (target, server_name)
        entry = self._open.get(key)
        if entry is None:
            channel = open_channel(
                target,
                server_name,
                channel_credentials(self._credentials),
                self._clock,
                self._options,
            )
            entry = self._open[key] = _Open(channel)
        return entry

    async def _look(self, look_s: float) -> None:
        while True:
            await asyncio.sleep(look_s)
            try:
                self.refresh()
            except IntertieError as problem:
                _log.warning("identity not rotated", problem=str(problem))
