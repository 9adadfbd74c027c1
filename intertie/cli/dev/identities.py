"""Issues what a development federation needs: CAs, identities, and their renewal.

On real hosts identities come by joining; here one process plays every CA. Leaves have the lives of
`intertie.pki.profile`, so a small process issues them again in time (`renew`), as operators would.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from intertie.cli.dev.layout import PROJECT, TRUST_DOMAIN, Description, Layout
from intertie.pki.authority import Authority, create_regional, create_root, new_key
from intertie.pki.ca_files import load_authority, write_authority
from intertie.pki.issue import issue
from intertie.pki.load import load, write_identity
from intertie.pki.profile import BACKDATE_MS, LEAF_LIFE_MS, renew_at_ms
from intertie.pki.spiffe import SERVING_ROLES, parse, region_trust_domain
from intertie.ports import Clock

ETCD_DOMAIN = f"etcd.{TRUST_DOMAIN}"
HOSTS = ("localhost", "127.0.0.1")
REPLICA = "fed-1"


@dataclass(frozen=True, slots=True)
class Person:
    """Whose identity it is: the folder's name and the SPIFFE ID; `authority` names the CA."""

    name: str
    spiffe_id: str
    authority: str


def people(description: Description) -> list[Person]:
    """Everybody who needs an identity."""
    fixed = [
        Person("federation", f"spiffe://{TRUST_DOMAIN}/federation/{REPLICA}", "root"),
        Person("user", f"spiffe://{TRUST_DOMAIN}/project/{PROJECT}/user", "root"),
        Person("admin", f"spiffe://{TRUST_DOMAIN}/admin/dev", "root"),
        Person("billing", f"spiffe://{TRUST_DOMAIN}/billing/dev", "root"),
        Person("etcd", f"spiffe://{ETCD_DOMAIN}/federation/etcd", "etcd"),
        Person("etcd-client", f"spiffe://{ETCD_DOMAIN}/federation/client", "etcd"),
    ]
    return fixed + [p for name in description.regions for p in _of_region(description, name)]


def operator(process: str) -> str:
    """The folder of the identity of a region's operator."""
    return "operator" if process == "region" else f"operator-{process}"


def _of_region(description: Description, process: str) -> list[Person]:
    region = description.regions[process]
    domain = f"spiffe://{region_trust_domain(region.id, TRUST_DOMAIN)}"
    return [
        Person(process, f"{domain}/scheduler", region.id),
        Person(operator(process), f"{domain}/operator/dev", region.id),
        *(Person(name, f"{domain}/node/{name}", region.id) for name in region.agents),
    ]


def issue_all(layout: Layout, description: Description, clock: Clock) -> None:
    """Make what is missing: CAs and identities. What is there stays."""
    authorities = _authorities(layout, description, clock)
    layout.identities.mkdir(mode=0o700, parents=True, exist_ok=True)
    for person in people(description):
        if not (layout.identity(person.name) / "cert.pem").exists():
            _issue(layout, authorities, person, clock)


def renew(layout: Layout, description: Description, clock: Clock, rng: random.Random) -> list[str]:
    """Issue again what is past half to two thirds of its life; returns whose."""
    authorities = _authorities(layout, description, clock)
    renewed = []
    for person in people(description):
        domain = ETCD_DOMAIN if person.authority == "etcd" else TRUST_DOMAIN
        credentials = load(layout.identity(person.name), domain)
        identity = credentials.identity
        not_before_ms = identity.not_after_ms - LEAF_LIFE_MS[identity.role] - BACKDATE_MS
        due_ms = renew_at_ms(not_before_ms, identity.not_after_ms, rng)
        if clock.now().utc_ms >= due_ms:
            _issue(layout, authorities, person, clock)
            renewed.append(person.name)
    return renewed


def _authorities(layout: Layout, description: Description, clock: Clock) -> dict[str, Authority]:
    root = _authority(layout.ca, TRUST_DOMAIN, clock)
    found = {"root": root, "etcd": _authority(layout.etcd_ca, ETCD_DOMAIN, clock)}
    for region in description.regions.values():
        path = layout.regional_ca(region.id)
        if not path.exists():
            write_authority(path, create_regional(root, region.id, clock.now(), hosts=HOSTS))
        found[region.id] = load_authority(path, TRUST_DOMAIN, region.id)
    return found


def _authority(path: Path, domain: str, clock: Clock) -> Authority:
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_authority(path, create_root(domain, clock.now()))
    return load_authority(path, domain)


def _issue(layout: Layout, authorities: dict[str, Authority], person: Person, clock: Clock) -> None:
    authority = authorities[person.authority]
    spiffe_id = parse(person.spiffe_id, authority.federation)
    key = new_key()
    hosts: Iterable[str] = HOSTS if spiffe_id.role in SERVING_ROLES else ()
    issued = issue(authority, spiffe_id, key.public_key(), clock.now(), hosts=tuple(hosts))
    write_identity(layout.identity(person.name), key, issued)
