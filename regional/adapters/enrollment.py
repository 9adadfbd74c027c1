"""The region's CA at hand: opens it, and renews the scheduler's own leaf by it.

The CA's key is the operator's and never leaves this machine, so a region renews itself and its
nodes while the federation is away.
"""

import asyncio
import random
from pathlib import Path

from cryptography import x509

from intertie.errors import Reason, error
from intertie.pki.authority import Authority
from intertie.pki.ca_files import load_authority
from intertie.pki.issue import Issued, issue, public_key_of_csr
from intertie.pki.load import IdentityDirectory
from intertie.ports import Clock
from intertie.transport.renewal import LOOK_S, Renewal

SHARD = 8
"""Of the region's store, beside those of runs and of the log."""


def open_authority(directory: Path, identity: IdentityDirectory, region: str) -> Authority:
    """Load the CA and check that it is the one that we serve under.

    Raises:
        IntertieError: CONFIG_INVALID naming the directory.
    """
    authority = load_authority(directory, identity.federation, region)
    trusted = x509.load_pem_x509_certificates(identity.current.trust_pem)
    if authority.root not in trusted:
        raise error(
            Reason.CONFIG_INVALID,
            f"enrollment.ca_dir: the root of {directory} is not the one that we serve under.",
            remedy=f"Use the CA that issued {identity.path}.",
        )
    return authority


def self_renewal(
    identity: IdentityDirectory,
    authority: Authority,
    clock: Clock,
    rng: random.Random,
    look_s: float = LOOK_S,
) -> Renewal:
    """Renews the scheduler's leaf, with the hosts that it has now."""

    async def ask(csr_pem: bytes) -> Issued:
        own = identity.current
        assert own.identity.spiffe_id is not None, "a leaf on disk has an ID"
        key = public_key_of_csr(csr_pem)
        hosts = hosts_of(own.cert_pem)
        return await asyncio.to_thread(
            issue, authority, own.identity.spiffe_id, key, clock.now(), hosts=hosts
        )

    return Renewal(identity, ask, clock, rng, look_s=look_s)


def hosts_of(cert_pem: bytes) -> tuple[str, ...]:
    """The host names and addresses of a leaf."""
    cert = x509.load_pem_x509_certificate(cert_pem)
    names = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = names.get_values_for_type(x509.IPAddress)
    return (*names.get_values_for_type(x509.DNSName), *map(str, addresses))
