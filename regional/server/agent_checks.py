"""What an agent may say on its link: checked before the core hears it.

The core asserts its invariants, and records are built from samples as they stand; an agent that
breaks the form is told so here and loses its link. Who the node is comes from its certificate.
"""

import re

from intertie.errors import IntertieError, PeerError, Reason, error
from intertie.model.agentlink import (
    AgentHello,
    AgentRunUpdate,
    CheckpointOffer,
    FromAgent,
    UsageSample,
)
from intertie.model.jurisdiction import covers, path_fault
from intertie.model.names import TaskName
from intertie.model.states import RunState
from intertie.model.task import StoredFile
from intertie.model.token import Token
from intertie.pki.identity import Identity
from intertie.transport.versions import agree
from regional.domain.runs.usage import MAX_INSTANT_MS, sample_fault

MAX_INCARNATION = 128
MAX_DEVICES = 1_024
MAX_FILES = 10_000
MAX_STEP = 1 << 53
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REPORTED = frozenset(
    {RunState.STAGING, RunState.STARTING, RunState.RUNNING, RunState.STOPPING, RunState.ENDED}
)


def check_hello(hello: AgentHello, peer: Identity, jurisdiction: str) -> int:
    """Check a hello against the certificate and the region's place; the protocol to speak."""
    if hello.node != peer.name:
        raise error(
            Reason.PERMISSION_DENIED,
            f"{peer} may not attach as node {hello.node[:60]!r}.",
            remedy="Set the node's id to the one in its certificate.",
        )
    for name in ("incarnation", "boot_id"):
        if not 1 <= len(getattr(hello, name)) <= MAX_INCARNATION:
            raise _broken(f"hello.{name}: must have 1 to {MAX_INCARNATION} characters")
    if len(hello.keeper_incarnation) > MAX_INCARNATION:
        raise _broken(f"hello.keeper_incarnation: over {MAX_INCARNATION} characters")
    _check_site(hello.site, jurisdiction)
    _check_capability(hello)
    for run in hello.runs:
        TaskName.parse(run.task, "hello.runs.task")
        _check_token(run.token)
    return agree(hello.node, hello.protocol_min, hello.protocol_max)


def _check_site(site: str, jurisdiction: str) -> None:
    """A node may say more exactly where it is, but not somewhere else."""
    if not site:
        return
    fault = path_fault(site)
    if fault:
        raise _broken(f"hello.site: {fault}")
    if not covers(jurisdiction, site):
        raise error(
            Reason.RESIDENCY_VIOLATION,
            f"hello.site: {site} is not within {jurisdiction}, where this region is.",
            remedy="A second site joins as a second region.",
        )


def _check_capability(hello: AgentHello) -> None:
    capability = hello.capability
    if min(capability.cpu, capability.memory, capability.disk) < 0:
        raise _broken("hello.capability: sizes must not be negative")
    indices = [device.index for device in capability.devices]
    if len(indices) > MAX_DEVICES or len(set(indices)) != len(indices):
        raise _broken("hello.capability.devices: too many, or one index twice")


def check_message(message: FromAgent) -> None:
    """Refuse what an agent that follows the protocol never says."""
    match message:
        case AgentRunUpdate():
            _check_update(message)
        case UsageSample():
            TaskName.parse(message.task, "usage_sample.task")
            _check_token(message.token)
            fault = sample_fault(message)
            if fault:
                raise _broken(f"usage_sample.{fault}")
        case CheckpointOffer():
            _check_offer(message)
        case AgentHello():
            raise _broken("a second hello")
        case _:
            pass


def _check_update(update: AgentRunUpdate) -> None:
    TaskName.parse(update.task, "run_update.task")
    _check_token(update.token)
    if update.state not in _REPORTED:
        raise _broken(f"run_update.state: {update.state.value} is the region's word")
    instants = (update.started_ms, update.ended_ms, update.boot_ms, update.resumed_step)
    if not all(0 <= value < MAX_INSTANT_MS for value in instants):
        raise _broken("run_update: an instant or step is out of range")
    if len(update.outputs) + len(update.logs) > MAX_FILES:
        raise _broken(f"run_update.outputs: over {MAX_FILES} files")
    for file in (*update.outputs, *update.logs):
        _check_file(file)


def _check_file(file: StoredFile) -> None:
    if _SHA256.fullmatch(file.sha256) is None or file.size < 0 or file.start < 0:
        raise _broken(f"run_update: {file.path[:60]!r} has no digest, or a negative size")


def _check_offer(offer: CheckpointOffer) -> None:
    TaskName.parse(offer.task, "checkpoint_offer.task")
    _check_token(offer.token)
    if _SHA256.fullmatch(offer.manifest) is None:
        raise _broken("checkpoint_offer.manifest: is no digest")
    if not 0 <= offer.step < MAX_STEP or offer.size < 0 or offer.written_boot_ms < 0:
        raise _broken("checkpoint_offer: a number is out of range")


def _check_token(token: Token) -> None:
    if token.epoch.generation < 1 or token.epoch.n < 1 or token.sub < 1:
        raise _broken(f"token: {token} was never given to a node")


def _broken(what: str) -> IntertieError:
    return PeerError(Reason.INVALID_FIELD, f"{what}.", remedy="Update the agent's software.")
