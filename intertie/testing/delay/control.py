"""The control socket of the delay proxy: a JSON object a line, an answer a line.

    {"from": "a", "to": "b", "delay_ms": 93.5}      one direction; also jitter_ms, cut
    {"from": "a", "to": "b", "rtt_ms": 187}         both directions, half of it each
    {}                                              changes nothing

The answer is `{"paths": [...]}`, or `{"error": "..."}` and nothing has changed.
"""

import asyncio
import json
from pathlib import Path as File
from typing import Any

from intertie.testing.delay.paths import MAX_DELAY_MS
from intertie.testing.delay.proxy import DelayProxy


async def serve_control(proxy: DelayProxy, socket: File) -> asyncio.Server:
    """Listen on a Unix socket that only our own user may use."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(json.dumps(await _answer(proxy, line)).encode() + b"\n")
            await writer.drain()
        writer.close()

    socket.unlink(missing_ok=True)
    server = await asyncio.start_unix_server(serve, str(socket))
    socket.chmod(0o600)
    return server


async def _answer(proxy: DelayProxy, line: bytes) -> dict[str, Any]:
    try:
        command = json.loads(line)
        if command:
            await _obey(proxy, command)
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        return {"error": f"{type(wrong).__name__}: {wrong}"}
    return {"paths": proxy.table.rows()}


async def _obey(proxy: DelayProxy, command: dict[str, Any]) -> None:
    first, second = str(command["from"]), str(command["to"])
    ways = [(first, second)]
    if "rtt_ms" in command:
        rtt_ms = float(command["rtt_ms"])
        if not 0 <= rtt_ms <= 2 * MAX_DELAY_MS:
            message = f"rtt_ms: {rtt_ms} is not in 0..{2 * MAX_DELAY_MS:g}"
            raise ValueError(message)
        command = {**command, "delay_ms": rtt_ms / 2}
        ways.append((second, first))
    made = [(way, proxy.table.path(*way).changed(command)) for way in ways]
    for way, path in made:
        await proxy.change(*way, path)
