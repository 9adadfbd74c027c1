"""The kinds of membership that the contract runs over. A new kind is one more line in `_KINDS`."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from intertie.clock import SystemClock
from intertie.store.etcd.channels import Limits
from intertie.store.etcd.client import EtcdClient
from intertie.store.etcd.memory import MemoryEtcd
from intertie.store.etcd.port import Membership
from intertie.testing.etcd import EtcdServers, etcd_binary, running_etcd


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServers]:
    if etcd_binary() is None:
        pytest.skip("no etcd on this machine (Debian: apt-get install etcd-server)")
    with running_etcd(tmp_path_factory.mktemp("etcd")) as servers:
        yield servers


def _real(request: pytest.FixtureRequest) -> Membership:
    servers: EtcdServers = request.getfixturevalue("servers")
    # Three keys a page, so that every list of more has several pages.
    return EtcdClient(servers.endpoints, limits=Limits(page_keys=3))


def _memory(_: pytest.FixtureRequest) -> Membership:
    return MemoryEtcd(SystemClock())


_KINDS: dict[str, Callable[[pytest.FixtureRequest], Membership]] = {
    "real": _real,
    "memory": _memory,
}


@pytest.fixture(params=sorted(_KINDS))
async def membership(request: pytest.FixtureRequest) -> AsyncIterator[Membership]:
    membership = _KINDS[request.param](request)
    yield membership
    await membership.close()


@pytest.fixture
def root(request: pytest.FixtureRequest) -> str:
    """A prefix of this test's own; the real server is shared by all of them."""
    return f"{request.node.name}/"
