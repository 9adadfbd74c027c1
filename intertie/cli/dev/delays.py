"""The delay proxy of a development federation: its file of routes, and commands to it.

Each region's link to the federation passes the proxy, which takes as long as a real link between
the two places. The proxy itself is `intertie.testing.delay`, a process of its own.
"""

import json
import socket
from dataclasses import replace
from typing import Any

from intertie.cli.dev.layout import Description, Layout, Rtt
from intertie.errors import Reason, error

ANSWER_S = 5.0


def write_delays(layout: Layout, description: Description) -> None:
    """Write what the proxy reads at its start."""
    target = f"127.0.0.1:{description.federation.grpc}"
    routes = [
        {
            "listen": region.uplink,
            "target": target,
            "origin": region.id,
            "place": description.near,
        }
        for region in description.regions.values()
    ]
    paths = [
        {"from": origin, "to": place, "delay_ms": rtt.ms / 2, "jitter_ms": rtt.jitter_ms}
        for rtt in description.rtts
        for origin, place in ((rtt.first, rtt.second), (rtt.second, rtt.first))
    ]
    text = json.dumps({"routes": routes, "paths": paths}, indent=2)
    layout.delays_file.write_text(text + "\n", encoding="utf-8")


def write_latencies(layout: Layout, description: Description) -> None:
    """Write the round trips that the replica reads at its start: no probe takes longer."""
    pairs = [
        {"from": origin, "to": place, "p95_ms": rtt.ms + 2 * rtt.jitter_ms}
        for rtt in description.rtts
        for origin, place in ((rtt.first, rtt.second), (rtt.second, rtt.first))
    ]
    # A region is one site: from it to itself there is no way to go.
    pairs += [
        {"from": region.id, "to": region.id, "p95_ms": 0.0}
        for region in description.regions.values()
    ]
    text = json.dumps({"type": "intertie.latencies/v1", "pairs": pairs}, indent=2)
    layout.latencies_file.write_text(text + "\n", encoding="utf-8")


def change_rtt(layout: Layout, first: str, second: str, ms: float) -> None:
    """Keep a round trip: for the next start of the proxy and of the replica."""
    description = layout.load()
    pair = {first, second}
    old = next((rtt for rtt in description.rtts if {rtt.first, rtt.second} == pair), None)
    jitter_ms = old.jitter_ms if old is not None else 0.0
    new = Rtt(first, second, ms, jitter_ms, "intertie dev rtt")
    rest = tuple(rtt for rtt in description.rtts if rtt is not old)
    layout.save(replace(description, rtts=(*rest, new)))


def tell_delays(layout: Layout, command: dict[str, Any]) -> list[dict[str, Any]]:
    """Send a command to the proxy; returns the paths as they are then.

    Raises:
        IntertieError: UNREACHABLE if it does not run; INVALID_ARGUMENT if it refuses.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_S)
        try:
            connection.connect(str(layout.delay_control))
            connection.sendall(json.dumps(command).encode() + b"\n")
            answer = json.loads(connection.makefile().readline())
        except (OSError, ValueError):
            raise error(
                Reason.UNREACHABLE,
                "The delay proxy does not answer.",
                remedy="It runs in federations of several regions: intertie dev up --regions FILE",
            ) from None
    if "error" in answer:
        raise error(
            Reason.INVALID_FIELD,
            f"The delay proxy refuses: {answer['error']}",
            remedy="Give a round trip in milliseconds, 0 to 20000.",
        )
    paths: list[dict[str, Any]] = answer["paths"]
    return paths
