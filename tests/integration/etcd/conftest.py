"""Real etcd processes, a proxy that cuts and mutes, and clients with short waits."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from intertie.store.etcd.channels import Limits, Tls
from intertie.store.etcd.client import EtcdClient
from intertie.testing.cut_proxy import CutProxy
from intertie.testing.etcd import EtcdServers, etcd_binary, running_etcd

LIMITS = Limits(call_s=3.0, attempt_s=0.5, beat_s=0.2, silence_s=0.8, backoff_max_s=0.2)


def _servers(tmp_path_factory: pytest.TempPathFactory, size: int) -> Iterator[EtcdServers]:
    if etcd_binary() is None:
        pytest.skip("no etcd on this machine (Debian: apt-get install etcd-server)")
    with running_etcd(tmp_path_factory.mktemp("etcd"), size) as servers:
        yield servers


@pytest.fixture(scope="session")
def lone_etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServers]:
    """One member. Whoever harms it mends it."""
    yield from _servers(tmp_path_factory, 1)


@pytest.fixture(scope="session")
def three_etcds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServers]:
    """Three members. Whoever harms one mends it."""
    yield from _servers(tmp_path_factory, 3)


Connect = Callable[..., EtcdClient]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Make clients with short waits; they are closed at the end of the test."""
    async with contextlib.AsyncExitStack() as clients:

        def connect(
            *endpoints: str, tls: Tls | None = None, call_s: float = LIMITS.call_s
        ) -> EtcdClient:
            limits = dataclasses.replace(LIMITS, call_s=call_s)
            client = EtcdClient(endpoints, tls=tls, limits=limits)
            clients.push_async_callback(client.close)
            return client

        yield connect


@pytest.fixture
async def proxy(lone_etcd: EtcdServers) -> AsyncIterator[CutProxy]:
    """A proxy before the lone member."""
    proxy = CutProxy(lone_etcd.endpoints[0])
    await proxy.open()
    yield proxy
    await proxy.cut()


@pytest.fixture
def root(request: pytest.FixtureRequest) -> str:
    """A prefix of this test's own; the servers are shared."""
    return f"{request.node.name}/"
