"""What every process says of itself: metrics under documented names, health, reflection."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from prometheus_client.parser import text_string_to_metric_families

from intertie.cli.dev.layout import REGION, TRUST_DOMAIN
from intertie.clock import SystemClock
from intertie.pki.load import load
from intertie.pki.spiffe import federation_dns_name, parse, region_trust_domain
from intertie.transport.channel import open_channel
from intertie.transport.credentials import channel_credentials

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
FOREIGN = ("process_", "python_")
"""Families of prometheus_client about the process itself."""


def documented() -> set[str]:
    return set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def fetch(port: int, path: str) -> str:
    with urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
        assert answer.status == 200
        return str(answer.read().decode())


def ports(cluster: Any) -> dict[str, int]:
    description = cluster.description
    agents = {name: ports.telemetry for name, ports in description.agents.items()}
    servers = {"federation": description.federation.telemetry, "region": description.region}
    return agents | servers | {"region": description.region.telemetry}


async def test_every_metric_of_every_process_is_documented(person: Any, cluster: Any) -> None:
    await person.ended(await person.submit("true"))
    names = documented()
    assert names
    for process, port in ports(cluster).items():
        text = await asyncio.to_thread(fetch, port, "metrics")
        families = {
            f"{family.name}_total" if family.type == "counter" else family.name
            for family in text_string_to_metric_families(text)
            if not family.name.startswith(FOREIGN)
        }
        created = {name for name in families if name.endswith("_created")}
        assert families - created <= names, f"{process}: {families - created - names}"
        assert "intertie_build_info" in families, process
        assert "intertie_certificate_not_after_seconds" in families, process


async def test_every_process_says_that_it_is_healthy(cluster: Any) -> None:
    for port in ports(cluster).values():
        assert await asyncio.to_thread(fetch, port, "healthz")


SERVED = {
    "federation": {
        "intertie.api.federation.v1.TaskService",
        "intertie.api.federation.v1.LinkService",
        "intertie.api.metering.v1.MeteringService",
    },
    "region": {
        "intertie.api.agent.v1.AgentLinkService",
        "intertie.api.regional.v1.PoolService",
    },
}


@pytest.mark.parametrize("server", sorted(SERVED))
async def test_servers_answer_health_checks_and_reflection(cluster: Any, server: str) -> None:
    name, person, port = {
        "federation": (
            federation_dns_name(TRUST_DOMAIN),
            "user",
            cluster.description.federation.grpc,
        ),
        "region": (
            parse(
                f"spiffe://{region_trust_domain(REGION, TRUST_DOMAIN)}/scheduler", TRUST_DOMAIN
            ).dns_name,
            "operator",
            cluster.description.region.grpc,
        ),
    }[server]
    credentials = channel_credentials(load(cluster.layout.identity(person), TRUST_DOMAIN))
    channel = open_channel(f"127.0.0.1:{port}", name, credentials, SystemClock())
    async with channel:
        health = health_pb2_grpc.HealthStub(channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(), timeout=5)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        assert await _services(channel) >= SERVED[server]


async def _services(channel: grpc.aio.Channel) -> set[str]:
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)

    def ask() -> Iterator[Any]:
        yield reflection_pb2.ServerReflectionRequest(list_services="")

    call = stub.ServerReflectionInfo(ask(), timeout=5)
    async for answer in call:
        return {service.name for service in answer.list_services_response.service}
    raise AssertionError("reflection did not answer")
