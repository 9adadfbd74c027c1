"""Every wrong certificate, against a real server and a real client; and that good ones work."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from intertie.clock import SystemClock
from intertie.errors import IntertieError, Reason
from intertie.pki.authority import create_regional, create_root, new_key
from intertie.pki.issue import issue
from intertie.pki.load import write_identity
from intertie.pki.profile import HOUR_MS, MINUTE_MS
from intertie.testing.pki import FederationPki, Forgery, federation_pki
from intertie.transport.credentials import anonymous_credentials

ADMIN = "spiffe://intertie.example/admin/ann"
NODE = "spiffe://eu.intertie.example/node/n1"
Say = Callable[..., Awaitable[bytes]]


async def reason_of(call: Awaitable[bytes]) -> tuple[Reason, str]:
    with pytest.raises(IntertieError) as caught:
        await call
    return caught.value.reason, str(caught.value)


@pytest.mark.parametrize(
    "client", ["admin/ann", "project/genome/bob", "eu:scheduler", "eu:node/n1", "us:operator/olga"]
)
async def test_a_good_certificate_is_the_caller(bench: Any, call: Say, client: str) -> None:
    channel = bench.channel(await bench.serve(), client)
    assert await call(channel) == f"hello {bench.pki.spiffe_id(client)}".encode()


async def test_a_region_serves_under_its_own_name(bench: Any, call: Say) -> None:
    target = await bench.serve("eu:scheduler", home_region="eu")
    name = "scheduler.eu.intertie.example"
    assert (await call(bench.channel(target, "eu:node/n1", name=name))).startswith(b"hello")
    reason, text = await reason_of(call(bench.channel(target, "us:node/n1", name=name)))
    assert reason is Reason.PERMISSION_DENIED
    assert "does not belong to region eu" in text


@pytest.mark.parametrize(
    ("forgery", "message"),
    [
        (Forgery(uris=(ADMIN, ADMIN + "2")), "2 URI names"),
        (Forgery(uris=(), dns=("ann.example",)), "0 URI names"),
        (Forgery(uris=("spiffe://other.example/admin/ann",)), "trust domain"),
        (Forgery(uris=("spiffe://intertie.example/root",)), "no role"),
        (Forgery(uris=(ADMIN,), ca=True), "is a CA"),
    ],
)
async def test_what_the_handshake_lets_through_the_check_refuses(
    bench: Any, call: Say, forgery: Forgery, message: str
) -> None:
    channel = bench.channel(await bench.serve(), bench.pki.forge(forgery))
    reason, text = await reason_of(call(channel))
    assert reason is Reason.IDENTITY_INVALID
    assert message in text


@pytest.mark.parametrize(
    "forgery",
    [
        Forgery(uris=(ADMIN,)),
        Forgery(uris=("spiffe://us.intertie.example/node/n1",)),
        Forgery(uris=("spiffe://x.eu.intertie.example/node/n1",)),
        Forgery(uris=(NODE,), dns=("federation.intertie.example",)),
        Forgery(uris=(NODE,), dns=("localhost",)),
    ],
)
async def test_a_leaf_outside_its_ca_s_name_constraint_fails_the_handshake(
    bench: Any, call: Say, forgery: Forgery
) -> None:
    path = bench.pki.forge(forgery, bench.pki.regions["eu"])
    reason, _ = await reason_of(call(bench.channel(await bench.serve(), path)))
    assert reason is Reason.UNREACHABLE


@pytest.mark.parametrize(
    "forgery",
    [
        Forgery(uris=(ADMIN,), ends_in_ms=-MINUTE_MS),
        Forgery(uris=(ADMIN,), starts_in_ms=HOUR_MS, ends_in_ms=2 * HOUR_MS),
    ],
    ids=["expired", "not yet valid"],
)
async def test_a_leaf_out_of_its_time_fails_the_handshake(
    bench: Any, call: Say, forgery: Forgery
) -> None:
    reason, _ = await reason_of(call(bench.channel(await bench.serve(), bench.pki.forge(forgery))))
    assert reason is Reason.UNREACHABLE


async def test_a_client_of_another_root_fails_the_handshake(
    bench: Any, call: Say, pki: FederationPki
) -> None:
    other = federation_pki(pki.path / "other")
    stranger = other.directory("admin/ann")
    (stranger / "trust.pem").write_bytes((pki.directory("admin/x") / "trust.pem").read_bytes())
    reason, _ = await reason_of(call(bench.channel(await bench.serve(), stranger)))
    assert reason is Reason.UNREACHABLE


async def test_a_client_without_a_certificate_fails_the_handshake(bench: Any, call: Say) -> None:
    target = await bench.serve()
    trust = (bench.pki.directory("admin/x") / "trust.pem").read_bytes()
    channel = bench.channel(target, credentials=anonymous_credentials(trust))
    reason, _ = await reason_of(call(channel))
    assert reason is Reason.UNREACHABLE


async def test_a_joining_port_admits_the_unnamed_to_joining_only(bench: Any, call: Say) -> None:
    target = await bench.serve(anonymous=True)
    trust = (bench.pki.directory("admin/x") / "trust.pem").read_bytes()
    channel = bench.channel(target, credentials=anonymous_credentials(trust))
    assert await call(channel, method="Open") == b"hello anonymous"
    reason, _ = await reason_of(call(channel, method="Say"))
    assert reason is Reason.UNAUTHENTICATED


async def test_a_server_with_another_name_is_refused_by_the_client(bench: Any, call: Say) -> None:
    target = await bench.serve("federation/r1")
    wrong = bench.channel(target, name="r2.federation.intertie.example")
    reason, text = await reason_of(call(wrong))
    assert reason is Reason.UNREACHABLE
    assert "certificates" in text
    assert await call(bench.channel(target, name="r1.federation.intertie.example"))


async def test_a_node_cannot_pose_as_a_server_of_the_federation(bench: Any, call: Say) -> None:
    target = await bench.serve("eu:node/n1")
    reason, _ = await reason_of(call(bench.channel(target)))
    assert reason is Reason.UNREACHABLE


async def test_a_server_of_another_root_is_refused_by_the_client(bench: Any, call: Say) -> None:
    other = create_root("intertie.example", SystemClock().now())
    server = Forgery(
        uris=("spiffe://intertie.example/federation/r1",), dns=("federation.intertie.example",)
    )
    path = bench.pki.forge(server, other)
    reason, _ = await reason_of(call(bench.channel(await bench.serve(path))))
    assert reason is Reason.UNREACHABLE


@pytest.mark.parametrize("minutes", [-9, 9])
async def test_clocks_nine_minutes_apart_work(bench: Any, call: Say, minutes: int) -> None:
    target = await bench.serve(clock=SystemClock(offset_ms=minutes * MINUTE_MS))
    assert await call(bench.channel(target))


@pytest.mark.parametrize("minutes", [-11, 11])
async def test_clocks_eleven_minutes_apart_are_named(bench: Any, call: Say, minutes: int) -> None:
    target = await bench.serve(clock=SystemClock(offset_ms=minutes * MINUTE_MS))
    reason, text = await reason_of(call(bench.channel(target)))
    assert reason is Reason.CLOCK_SKEW
    assert "11.0 minutes" in text


async def test_a_clock_that_is_no_number_is_refused(bench: Any, call: Say) -> None:
    channel = bench.channel(await bench.serve())
    reason, _ = await reason_of(call(channel, metadata=(("intertie-utc-ms", "noon"),)))
    assert reason is Reason.INVALID_FIELD


@pytest.mark.parametrize(
    ("allowed", "used", "works"),
    [
        ((), "gw.park.example", False),
        (("gw.park.example",), "gw.park.example", True),
        ((), "127.0.0.1", False),
        (("127.0.0.1",), "127.0.0.1", True),
    ],
)
async def test_a_region_serves_under_the_hosts_that_the_root_allowed(
    bench: Any, call: Say, allowed: tuple[str, ...], used: str, works: bool
) -> None:
    now, pki = SystemClock().now(), bench.pki
    authority = create_regional(pki.root, "eu", now, hosts=allowed)
    spiffe_id = pki.spiffe_id("eu:scheduler")
    key = new_key()
    path = pki.path / "scheduler"
    write_identity(path, key, issue(authority, spiffe_id, key.public_key(), now, hosts=(used,)))
    channel = bench.channel(await bench.serve(path), name=used)
    if works:
        assert await call(channel)
    else:
        reason, _ = await reason_of(call(channel))
        assert reason is Reason.UNREACHABLE


async def test_only_a_replica_may_act_for_another(bench: Any, call: Say) -> None:
    target = await bench.serve()
    wish = (("intertie-on-behalf-of", "spiffe://intertie.example/project/genome/bob"),)
    replica = bench.channel(target, "federation/r2")
    answer = await call(replica, metadata=wish)
    assert answer == b"hello spiffe://intertie.example/project/genome/bob"
    reason, _ = await reason_of(call(bench.channel(target, "admin/ann"), metadata=wish))
    assert reason is Reason.PERMISSION_DENIED
    reason, _ = await reason_of(call(replica, method="Admin", metadata=wish))
    assert reason is Reason.PERMISSION_DENIED
    bench.pki.bans.ban(ids=["spiffe://intertie.example/project/genome/bob"])
    reason, _ = await reason_of(call(replica, metadata=wish))
    assert reason is Reason.BANNED
