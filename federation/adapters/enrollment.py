"""Opens what joining stands on: the ledger in etcd or in our store, and the CA that certifies."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cryptography import x509

from federation.config import Config
from intertie.errors import Reason, error
from intertie.pki.authority import Authority, root_pin
from intertie.pki.bans import Bans
from intertie.pki.ca_files import load_authority
from intertie.pki.load import load
from intertie.ports import Store
from intertie.store.enrollment.bans import BanList
from intertie.store.enrollment.ledger import Ledger, StoreLedger
from intertie.store.etcd.channels import read_tls
from intertie.store.etcd.client import EtcdClient

SHARD = 80
"""Of our store, where there is no etcd; far from those of tasks and of the mirror."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The ledger with what closes it, the ban list, and the CA if this replica has one."""

    ledger: Ledger
    bans: BanList
    authority: Authority | None
    close: Callable[[], Awaitable[None]]


async def open_enrollment(config: Config, store: Store, bans: Bans) -> Opened:
    """Open them. Raises CONFIG_INVALID naming the file or the setting."""
    authority = await asyncio.to_thread(_authority, config)
    etcd = config.etcd
    if not etcd.endpoints:
        ledger = StoreLedger(store, SHARD)
        banned = BanList(ledger, bans)
        await banned.load()
        return Opened(ledger, banned, authority, _nothing)
    tls = None
    if etcd.ca is not None and etcd.cert is not None and etcd.key is not None:
        tls = read_tls(etcd.ca, etcd.cert, etcd.key)
    client = EtcdClient(etcd.endpoints, tls=tls)
    return Opened(client, BanList(client, bans), authority, client.close)


def _authority(config: Config) -> Authority | None:
    directory = config.enrollment.ca_dir
    if directory is None:
        return None
    authority = load_authority(directory, config.trust_domain)
    own = load(config.identity, config.trust_domain)
    if authority.root not in x509.load_pem_x509_certificates(own.trust_pem):
        raise error(
            Reason.CONFIG_INVALID,
            f"enrollment.ca_dir: the root of {directory} is not the one that we serve under.",
            remedy=f"Use the CA that issued {config.identity}, or one below its root.",
            metadata={"pin": root_pin(authority.root)},
        )
    return authority


async def _nothing() -> None:
    """The store is closed by whoever opened it."""
