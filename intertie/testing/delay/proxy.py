"""The doors of the delay proxy: TCP on loopback, each chunk handed on when its time has come.

One process and one event loop serve all routes. Bytes keep their order; what a cut path holds flows
on when it is mended, as over a network that retransmits. Knows no protocol.
"""

import asyncio
import random
from collections.abc import Iterable

from intertie.testing.delay.paths import Path, Route, Table

CHUNK = 65_536
IN_FLIGHT = 256
"""Chunks of one direction that are on their way; then the sender has to wait."""


class DelayProxy:
    """All routes over one table."""

    def __init__(self, table: Table, rng: random.Random) -> None:
        self.table = table
        self._rng = rng
        self._changed = asyncio.Condition()
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def open(self, routes: Iterable[Route]) -> list[int]:
        """Take connections; returns the port of each route."""
        ports = []
        for route in routes:

            async def serve(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, route: Route = route
            ) -> None:
                await self._serve(route, reader, writer)

            server = await asyncio.start_server(serve, "127.0.0.1", route.listen)
            self._servers.append(server)
            ports.append(server.sockets[0].getsockname()[1])
        return ports

    async def change(self, origin: str, place: str, path: Path) -> None:
        """Change one direction; chunks that set out before keep their time."""
        async with self._changed:
            self.table.set(origin, place, path)
            self._changed.notify_all()

    async def close(self) -> None:
        """Drop all connections and take no more."""
        for server in self._servers:
            server.close()
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        for server in self._servers:
            await server.wait_closed()

    async def _serve(
        self, route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None, "a connection is served by a task"
        self._connections.add(task)
        back: asyncio.StreamWriter | None = None
        try:
            await self._open(route.origin, route.place)
            host, _, port = route.target.rpartition(":")
            there, back = await asyncio.open_connection(host, int(port))
            async with asyncio.TaskGroup() as ways:
                ways.create_task(self._way(route.origin, route.place, reader, back))
                ways.create_task(self._way(route.place, route.origin, there, writer))
        except* OSError:
            pass  # an end that is gone ends the connection; both ends see it closed
        finally:
            self._connections.discard(task)
            writer.close()
            if back is not None:
                back.close()

    async def _way(
        self, origin: str, place: str, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> None:
        flight: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(IN_FLIGHT)
        async with asyncio.TaskGroup() as both:
            both.create_task(self._depart(origin, place, source, flight))
            both.create_task(self._arrive(origin, place, flight, sink))

    async def _depart(
        self,
        origin: str,
        place: str,
        source: asyncio.StreamReader,
        flight: asyncio.Queue[tuple[float, bytes]],
    ) -> None:
        loop, last = asyncio.get_running_loop(), 0.0
        while True:
            data = await source.read(CHUNK)
            last = max(last, loop.time() + self.table.path(origin, place).draw_s(self._rng))
            await flight.put((last, data))
            if not data:
                return

    async def _arrive(
        self,
        origin: str,
        place: str,
        flight: asyncio.Queue[tuple[float, bytes]],
        sink: asyncio.StreamWriter,
    ) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, data = await flight.get()
            await asyncio.sleep(due - loop.time())
            await self._open(origin, place)
            if not data:
                sink.close()
                return
            sink.write(data)
            await sink.drain()

    async def _open(self, origin: str, place: str) -> None:
        """Wait until the path is not cut."""
        if not self.table.path(origin, place).cut:
            return
        async with self._changed:
            await self._changed.wait_for(lambda: not self.table.path(origin, place).cut)
