"""Certificates that are renewed, and identities that are banned while they are in use."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from intertie.cli.app import app
from intertie.errors import IntertieError, Reason
from intertie.model.spec import RunSpec, TaskSpec
from intertie.pki.join.pending import PENDING
from intertie.pki.load import load
from intertie.sdk.client import Client
from intertie.sdk.contexts import load_contexts
from intertie.sdk.membership.admin import AdminClient
from intertie.testing.waiting import eventually_sync
from intertie.transport.joining.renewal import Renewal

TD = "intertie.example"
CUT_WITHIN_S = 5


def joined(place: Any, name: str = "ann") -> Path:
    """A client of the project; its contexts are in `<name>.toml`."""
    place.join(place.token("client", "--project", "demo", "--name", name), config=f"{name}.toml")
    return Path(load_contexts(place.path / f"{name}.toml").get().identity)


def renewal_of(connection: Any) -> Renewal:
    found = connection._renewal._renewal
    assert isinstance(found, Renewal)
    return found


async def to_the_end(stream: AsyncIterator[object]) -> None:
    async for _ in stream:
        pass


def serial(path: Path) -> str:
    return load(path, TD).identity.serial


def test_a_person_joins_and_their_client_renews(place: Any) -> None:
    identity = joined(place)
    before = serial(identity)

    async def go() -> None:
        async with AdminClient(load_contexts(place.path / "ann.toml").get().federation()) as ann:
            renewal = renewal_of(ann._connection)
            await renewal.renew()
            assert (await ann.who_am_i()).subject == f"spiffe://{TD}/project/demo/ann"

    asyncio.run(go())
    assert serial(identity) != before
    assert not (identity / PENDING).exists()
    [listed] = place.json("identity", "list")["identities"]
    assert listed["serial"] == serial(identity)


def test_the_same_command_joins_a_person_once(place: Any) -> None:
    token = place.token("billing", "--name", "erp")
    for _ in range(2):
        assert f"joined as spiffe://{TD}/billing/erp" in place.join(token, config="erp.toml").stdout
    assert place.json("whoami", config="erp.toml")["role"] == "billing"
    assert len(place.json("identity", "list")["identities"]) == 1


def test_a_token_may_come_from_stdin(place: Any) -> None:
    token = place.token("admin", "--name", "bob")
    environment = {"INTERTIE_CONFIG": str(place.path / "bob.toml")}
    argv = ["join", "-", "--endpoint", place.endpoint]
    assert CliRunner().invoke(app, argv, input=f"{token}\n", env=environment).exit_code == 0
    assert place.json("whoami", config="bob.toml")["role"] == "admin"


def test_an_older_certificate_does_not_renew(place: Any) -> None:
    identity = joined(place)
    endpoint = load_contexts(place.path / "ann.toml").get().federation()

    async def go() -> Reason:
        async with AdminClient(endpoint) as thief, AdminClient(endpoint) as ann:
            await thief.who_am_i()
            await renewal_of(ann._connection).renew()
            stolen = renewal_of(thief._connection)
            with pytest.raises(IntertieError) as caught:
                await stolen.renew()
            return caught.value.reason

    assert asyncio.run(go()) is Reason.PERMISSION_DENIED
    assert (identity / PENDING).exists()


@pytest.mark.parametrize("place", ["store", "etcd"], indirect=True)
def test_a_ban_of_a_person_cuts_an_open_stream_within_five_seconds(place: Any) -> None:
    joined(place)
    context = load_contexts(place.path / "ann.toml").get()

    async def go() -> Reason:
        async with (
            Client(context.federation(), project="demo") as ann,
            AdminClient(load_contexts(place.path / "admin.toml").get().federation()) as root,
        ):
            await ann.create_task(TaskSpec(run=RunSpec(command=("true",))))
            stream = ann.watch_tasks(send_initial=True)
            await anext(stream)
            await root.revoke(subject=f"spiffe://{TD}/project/demo/ann", reason="left")
            with pytest.raises(IntertieError) as caught:
                await asyncio.wait_for(to_the_end(stream), CUT_WITHIN_S)
            return caught.value.reason

    assert asyncio.run(go()) is Reason.BANNED
    assert "is banned" in place.cli("whoami", config="ann.toml", expect=6).output
    [listed] = place.json("identity", "list")["identities"]
    assert listed["banned"]


def test_a_banned_serial_leaves_the_name_to_a_new_key(place: Any) -> None:
    stolen = serial(joined(place))
    place.cli("identity", "revoke", stolen.upper(), "--reason", "stolen laptop")
    assert "is banned" in place.cli("whoami", config="ann.toml", expect=6).output
    joined(place)
    assert place.json("whoami", config="ann.toml")["project"] == "demo"
    place.cli("identity", "revoke", "no-hex", "--reason", "x", expect=2)
    place.cli("identity", "revoke", "spiffe://other.example/x", "--reason", "x", expect=6)


def test_a_ban_of_a_scheduler_cuts_its_link_and_keeps_it_out(place: Any, tmp_path: Path) -> None:
    place.join_region(place.token("region", "--region", "eu", "--pre-approved"), tmp_path / "eu")
    place.serve_region(tmp_path / "eu")
    eventually_sync(lambda: place.reachability("eu") == "REACHABILITY_REACHABLE", 10, what="eu")
    place.cli("identity", "revoke", f"spiffe://eu.{TD}/scheduler", "--reason", "stolen")
    eventually_sync(lambda: place.reachability("eu") != "REACHABILITY_REACHABLE", 5, what="cut")


def test_a_node_renews_with_its_region_and_stays_attached(place: Any, tmp_path: Path) -> None:
    place.join_region(place.token("region", "--region", "eu", "--pre-approved"), tmp_path / "eu")
    region = place.serve_region(tmp_path / "eu")
    place.use_region_address("eu", region)
    token = place.token("node", config="eu.toml")
    place.join_node(token, tmp_path / "n1", region, "n1")
    agent = place.serve_agent(tmp_path / "n1")
    eventually_sync(lambda: place.nodes("eu.toml") == ["n1"], 10, what="the node")
    before = serial(tmp_path / "n1" / "identity")
    renewal = agent._renewal
    assert renewal is not None
    place.background.run(renewal.renew())
    assert serial(tmp_path / "n1" / "identity") != before
    [used] = place.json("token", "list", config="eu.toml")["tokens"]
    assert used["uses"] == 1
    told = place.join_node(token, tmp_path / "n2", region, "n2", expect=6)
    assert "was used already, for another key" in told.output


def test_a_scheduler_renews_itself_by_its_own_ca(place: Any, tmp_path: Path) -> None:
    place.join_region(place.token("region", "--region", "eu", "--pre-approved"), tmp_path / "eu")
    region = place.serve_region(tmp_path / "eu")
    before = serial(tmp_path / "eu" / "identity")
    renewal = region._renewal
    assert renewal is not None
    place.background.run(renewal.renew())
    assert serial(tmp_path / "eu" / "identity") != before
    place.use_region_address("eu", region)
    assert place.nodes("eu.toml") == []


def test_a_node_token_is_taken_back(place: Any, tmp_path: Path) -> None:
    place.join_region(place.token("region", "--region", "eu", "--pre-approved"), tmp_path / "eu")
    region = place.serve_region(tmp_path / "eu")
    place.use_region_address("eu", region)
    token = place.token("node", "--max-uses", "5", "--network", "10.0.0.0/8", config="eu.toml")
    told = place.join_node(token, tmp_path / "n1", region, "n1", expect=6)
    assert "may not be used from 127.0.0.1" in told.output
    [listed] = place.json("token", "list", config="eu.toml")["tokens"]
    id_ = listed["name"].removeprefix("joinTokens/")
    place.cli("token", "revoke", id_, "--reason", "printed", config="eu.toml")
    told = place.join_node(token, tmp_path / "n1", region, "n1", expect=6)
    assert "was taken back" in told.output
    wrong = place.join(token, "--dir", str(tmp_path / "n1"), expect=6)
    assert "is not a server of region eu, which made the token" in wrong.output
