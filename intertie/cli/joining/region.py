"""Joining as a region: its own CA, the identities that it issues, its configuration, a context.

    DIR/ca/           the region's CA; its key was made here and never leaves
    DIR/identity/     of the scheduler
    DIR/operator/     of whoever joined
    DIR/config.toml   for `intertie regional serve --config`
    DIR/state/        what the scheduler owns

Every step may be repeated with the same token: the key stays, the federation answers the same.
"""

import asyncio
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from intertie.cli.joining.joined import ca_key, write_ca, write_context
from intertie.cli.joining.toml import Value, write_config
from intertie.cli.printing import lines, notice
from intertie.clock import SystemClock
from intertie.errors import IntertieError, Reason, error
from intertie.pki.authority import Authority, new_key
from intertie.pki.issue import create_csr, issue
from intertie.pki.join.requests import JoinState
from intertie.pki.load import write_identity
from intertie.pki.spiffe import SERVING_ROLES, parse
from intertie.sdk.contexts import RegionAccess
from intertie.sdk.membership.joiner import Joiner
from intertie.sdk.membership.values import FederationAccess, Join

ASK_EVERY_S = 2.0
OPERATOR = "owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionPlan:
    """Where and how the region is set up here."""

    directory: Path
    jurisdiction: str
    hosts: Sequence[str]
    listen: str
    join_listen: str
    wait: bool

    def dialled(self, listen: str) -> str:
        """Where others find what listens there."""
        return f"{self.hosts[0]}:{listen.rpartition(':')[2]}"


async def join_region(joiner: Joiner, plan: RegionPlan) -> None:
    """Redeem the token, wait for approval, write everything."""
    key, resumes = ca_key(plan.directory / "ca")
    csr_pem = create_csr(key)
    await _check_directory(joiner, plan, csr_pem)
    asked = await _asked(joiner, plan, csr_pem, resumes=resumes)
    join = await _decided(joiner, plan, asked)
    if join is None:
        return
    if join.credentials is None or join.federation is None:
        raise error(Reason.INTERNAL, "The federation approved the join and gave no certificate.")
    region = join.region
    ca = write_ca(plan.directory / "ca", key, join.credentials, joiner, region)
    issue_identities(plan.directory, ca, plan.hosts)
    config = plan.directory / "config.toml"
    cites = join.federation.price_version or "none"
    write_config(
        config,
        _config(plan, region, join.federation),
        f"Grants cite price list {cites} of the federation.",
    )
    _write_context(plan, region, join.federation)
    lines(
        [
            f"region {region} joined {join.federation.trust_domain}",
            f"wrote its CA, identities and configuration to {plan.directory}",
            f"next: intertie regional serve --config {config}",
        ]
    )


async def _check_directory(joiner: Joiner, plan: RegionPlan, csr_pem: bytes) -> None:
    """Refuse a directory that holds another region: its CA's key is that region's."""
    config = plan.directory / "config.toml"
    if not config.exists():
        return
    here = tomllib.loads(config.read_text(encoding="utf-8")).get("region", "")
    try:
        offered = await joiner.get_join()
    except IntertieError as problem:
        if problem.reason is not Reason.JOIN_TOKEN_INVALID:
            raise
        offered = await joiner.request_join(
            csr_pem, jurisdiction=plan.jurisdiction, hosts=plan.hosts, check=True
        )
    if offered.region != here:
        raise error(
            Reason.CONFIG_INVALID,
            f"{plan.directory} holds region {here or 'unknown'}, and the token is for "
            f"{offered.region}.",
            remedy="Give another --dir: each region has a CA of its own.",
        )


async def _asked(joiner: Joiner, plan: RegionPlan, csr_pem: bytes, *, resumes: bool) -> Join:
    """The join: the one that was asked before with this key, or a new one."""
    if resumes:
        try:
            return await joiner.get_join()
        except IntertieError as problem:
            if problem.reason is not Reason.JOIN_TOKEN_INVALID:
                raise
    return await joiner.request_join(csr_pem, jurisdiction=plan.jurisdiction, hosts=plan.hosts)


async def _decided(joiner: Joiner, plan: RegionPlan, join: Join) -> Join | None:
    """The approved join; None if it waits and we do not."""
    approve = f"intertie region approve {join.region}"
    if join.state is JoinState.REQUESTED and not plan.wait:
        lines(
            [
                f"asked to join as {join.subject}; an administrator lets it in: {approve}",
                "then run the same command again",
            ]
        )
        return None
    if join.state is JoinState.REQUESTED:
        notice(f"Waiting for an administrator: {approve}")
    while join.state is JoinState.REQUESTED:
        await asyncio.sleep(ASK_EVERY_S)
        join = await joiner.get_join()
    if join.state is JoinState.REJECTED:
        raise error(
            Reason.JOIN_REJECTED,
            f"{join.decider} refused {join.region}: {join.reason}.",
            remedy="Ask whoever gave you the token.",
        )
    return join


def issue_identities(directory: Path, ca: Authority, hosts: Sequence[str]) -> None:
    """Issue the scheduler's identity and the first operator's, by the region's own CA."""
    subjects = {
        "identity": f"spiffe://{ca.trust_domain}/scheduler",
        "operator": f"spiffe://{ca.trust_domain}/operator/{OPERATOR}",
    }
    for folder, subject in subjects.items():
        spiffe_id = parse(subject, ca.federation)
        key = new_key()
        dialled = tuple(hosts) if spiffe_id.role in SERVING_ROLES else ()
        now = SystemClock().now()
        issued = issue(ca, spiffe_id, key.public_key(), now, hosts=dialled)
        write_identity(directory / folder, key, issued)


def _write_context(plan: RegionPlan, region: str, access: FederationAccess) -> None:
    operator = plan.directory / "operator"
    own = RegionAccess(
        id=region, endpoint=plan.dialled(plan.listen), identity=str(operator.absolute())
    )
    write_context(f"{region}-operator", operator, access, region=own)


def _config(plan: RegionPlan, region: str, access: FederationAccess) -> dict[str, dict[str, Value]]:
    base = plan.directory.absolute()
    return {
        "": {
            "region": region,
            "jurisdiction": plan.jurisdiction,
            "trust_domain": access.trust_domain,
            "state_dir": str(base / "state"),
            "identity_dir": str(base / "identity"),
            "listen": plan.listen,
        },
        "federation": {
            "endpoints": list(access.endpoints),
            "grant_keys": list(access.grant_keys),
            "witnesses": list(access.witnesses),
        },
        "enrollment": {
            "ca_dir": str(base / "ca"),
            "listen": plan.join_listen,
            "join_endpoints": [plan.dialled(plan.join_listen)],
            "endpoints": [plan.dialled(plan.listen)],
        },
    }
