"""A TCP proxy on loopback that can be cut and muted: faults of a link between live processes.

It passes bytes and knows no protocol. For tests only.
"""

import asyncio


class CutProxy:
    """A TCP proxy before one endpoint: passes, swallows the answers (`muted`), or is cut."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._pumps: set[asyncio.Task[None]] = set()
        self._port = 0
        self.muted = False

    @property
    def endpoint(self) -> str:
        """`host:port`; stays the same over cuts."""
        return f"127.0.0.1:{self._port}"

    async def open(self) -> None:
        """Take connections, for the first time or again."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Drop all connections and refuse new ones."""
        assert self._server is not None
        self._server.close()
        pumps = list(self._pumps)
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._pumps.add(task)
        host, port = self._target.split(":")
        try:
            there, back = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.close()
            return
        try:
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._pump(reader, back, answers=False))
                pumps.create_task(self._pump(there, writer, answers=True))
        except* OSError:
            pass
        finally:
            self._pumps.discard(task)
            writer.close()
            back.close()

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        while data := await source.read(65536):
            if not (answers and self.muted):
                sink.write(data)
                await sink.drain()
        sink.close()
