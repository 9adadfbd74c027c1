"""Joining and banning with a real etcd: another replica follows a ban and cuts its streams."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from federation.app import Application
from federation.config import Config
from intertie.config import load
from intertie.errors import IntertieError, Reason
from intertie.model.spec import RunSpec, TaskSpec
from intertie.sdk.client import Client
from intertie.sdk.connection import Endpoint
from intertie.sdk.contexts import load_contexts
from intertie.testing.waiting import eventually_sync

pytestmark = pytest.mark.parametrize("place", ["etcd"], indirect=True)

CUT_WITHIN_S = 5


async def to_the_end(stream: AsyncIterator[object]) -> None:
    async for _ in stream:
        pass


def test_a_region_joins_by_a_token_in_etcd(place: Any, tmp_path: Path) -> None:
    token = place.token("region", "--region", "eu")
    place.join_region(token, tmp_path / "eu", "--no-wait")
    place.cli("region", "approve", "eu")
    place.join_region(token, tmp_path / "eu")
    place.serve_region(tmp_path / "eu")
    eventually_sync(lambda: place.reachability("eu") == "REACHABILITY_REACHABLE", 10, what="eu")
    assert len(place.json("identity", "list")["identities"]) == 1


def test_a_ban_reaches_another_replica_and_cuts_a_stream_there(place: Any, tmp_path: Path) -> None:
    place.join(place.token("client", "--project", "demo", "--name", "ann"), config="ann.toml")
    own = load_contexts(tmp_path / "ann.toml").get().federation()
    place.pki.directory("federation/r2", path=tmp_path / "identity-2")
    flags = [
        f"state_dir={tmp_path / 'state-2'}",
        f"identity_dir={tmp_path / 'identity-2'}",
        "replica=r2",
        "listen=127.0.0.1:0",
        f'etcd.endpoints=["{place.replica.config.etcd.endpoints[0]}"]',
    ]
    other = Application(load(Config, flags=flags, environment={}))
    place.background.run(other.start())
    try:
        there = Endpoint(
            target=other.address,
            server_name=own.server_name,
            identity=own.identity,
            trust_domain=own.trust_domain,
        )
        assert asyncio.run(_cut(there, place)) is Reason.BANNED
    finally:
        place.background.run(other.stop())


async def _cut(there: Endpoint, place: Any) -> Reason:
    """Watch at one replica, ban at the other; why the stream ended."""
    async with Client(there, project="demo") as ann:
        await ann.create_task(TaskSpec(run=RunSpec(command=("true",))))
        stream = ann.watch_tasks(send_initial=True)
        await anext(stream)
        argv = ("identity", "revoke", "spiffe://intertie.example/project/demo/ann")
        ban = partial(place.cli, *argv, "--reason", "left")
        await asyncio.to_thread(ban)
        with pytest.raises(IntertieError) as caught:
            await asyncio.wait_for(to_the_end(stream), CUT_WITHIN_S)
        return caught.value.reason
