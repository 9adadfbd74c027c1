"""What a region may say on its link: checked before the core hears it.

The core asserts its invariants; a peer that breaks them is told so here and loses its link. Who the
region is comes from its certificate alone.
"""

import re

from intertie.errors import IntertieError, PeerError, Reason, error, invalid
from intertie.latency import MAX_RTT_US
from intertie.metering.log.note import ED25519_NOTE, Key
from intertie.model.jurisdiction import Jurisdiction
from intertie.model.link import (
    AssignAck,
    FromRegion,
    Offer,
    RegionHello,
    RttReport,
    RunDigest,
    RunUpdate,
)
from intertie.model.names import REGION, TaskName
from intertie.model.pool import Summary
from intertie.model.states import RunState
from intertie.model.token import Token
from intertie.pki.identity import Identity
from intertie.transport.versions import agree

POLICY = "policy"
BEACONS = "beacons"
FEATURES = ("read_bytes", "digest", POLICY, BEACONS)
"""Optional features that this version speaks."""

MAX_INCARNATION = 64
MAX_CLASSES = 1_000
MAX_ROUND_TRIPS = 1_000
MAX_COUNT = 1_000_000

_ADDRESS = re.compile(r"([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):([0-9]{1,5})")


def origin_of(trust_domain: str, region: str) -> str:
    """The name of a region's metering log."""
    return f"{trust_domain}/region/{region}/metering"


def check_hello(hello: RegionHello, peer: Identity, trust_domain: str) -> int:
    """Check a hello's form, and who says it; the protocol version to speak.

    Args:
        hello: as received.
        peer: whose certificate it came under.
        trust_domain: the federation's, for the name of the log.
    """
    if hello.region != peer.region:
        raise error(
            Reason.PERMISSION_DENIED,
            f"{peer} may not attach as region {hello.region[:60]}.",
            remedy="Set the region's id to the one in its certificate.",
        )
    if not 1 <= len(hello.incarnation) <= MAX_INCARNATION:
        raise invalid("hello.incarnation", f"must have 1 to {MAX_INCARNATION} characters")
    Jurisdiction.parse(hello.jurisdiction, "hello.jurisdiction")
    if hello.beacon and not _is_address(hello.beacon):
        raise invalid("hello.beacon", f"{hello.beacon[:80]!r} is not host:port")
    if hello.log_vkey:
        _check_log_key(hello.log_vkey, origin_of(trust_domain, hello.region))
    return agree(hello.region, hello.protocol_min, hello.protocol_max)


def _check_log_key(vkey: str, origin: str) -> None:
    key = Key.parse(vkey)
    if key.name != origin or key.kind != ED25519_NOTE:
        raise invalid("hello.log_vkey", f"must be an Ed25519 note key named {origin}")


def check_message(message: FromRegion, hello: RegionHello) -> None:
    """Refuse what a region that follows the protocol, and said this hello, never says."""
    match message:
        case RunUpdate():
            _check_update(message)
        case AssignAck():
            TaskName.parse(message.task, "assign_ack.task")
        case RunDigest():
            for entry in message.entries:
                TaskName.parse(entry.task, "run_digest.entries.task")
                _check_token(entry.token)
        case Summary():
            for field in ("region", "jurisdiction"):
                said, meant = getattr(message, field), getattr(hello, field)
                if said != meant:
                    raise _broken(f"summary.{field}: {said[:60]} is not {meant}, as in the hello")
            _check_summary(message)
        case Offer():
            if message.units < 0 or message.units_now < 0:
                raise _broken("offer: units must not be negative")
        case RttReport():
            _check_report(message)
        case RegionHello():
            raise _broken("a second hello")
        case _:
            pass


def _check_update(update: RunUpdate) -> None:
    TaskName.parse(update.task, "run_update.task")
    _check_token(update.token)
    if update.state is RunState.ASSIGNED:
        raise _broken("run_update.state: ASSIGNED is the federation's word")
    if update.checkpoint is not None and update.checkpoint.token > update.token:
        raise _broken("run_update.checkpoint: its token is above that of the run")
    if (update.state is RunState.ENDED) != (update.outcome is not None):
        raise _broken("run_update.outcome: goes with ENDED, and with nothing else")


def _check_summary(summary: Summary) -> None:
    if not 0.0 <= summary.health <= 1.0:
        raise _broken(f"summary.health: {summary.health} is not between 0 and 1")
    if min(summary.queued, summary.running, summary.revision) < 0:
        raise _broken("summary: counts must not be negative")
    if len(summary.classes) > MAX_CLASSES:
        raise _broken(f"summary.classes: at most {MAX_CLASSES}")
    for c in summary.classes:
        numbers = (
            *(c.nodes, c.max_cpu, c.max_memory, c.max_disk, c.max_devices, c.device_memory),
            *(c.free_cpu, c.free_memory),
            *c.free_blocks.keys(),
            *c.free_blocks.values(),
        )
        if min(numbers) < 0:
            raise _broken("summary.classes: numbers must not be negative")


def _is_address(text: str) -> bool:
    found = _ADDRESS.fullmatch(text)
    return found is not None and 0 < int(found[2]) < 65_536


def _check_report(report: RttReport) -> None:
    if len(report.round_trips) > MAX_ROUND_TRIPS:
        raise _broken(f"rtt_report: at most {MAX_ROUND_TRIPS} round trips")
    named = {trip.region for trip in report.round_trips}
    if len(named) < len(report.round_trips):
        raise _broken("rtt_report: a region is named twice")
    for trip in report.round_trips:
        if REGION.fullmatch(trip.region) is None:
            raise _broken(f"rtt_report: {trip.region[:60]!r} is no region id")
        if not 0 <= trip.p50_us <= trip.p95_us <= MAX_RTT_US:
            raise _broken(
                f"rtt_report: {trip.p50_us} and {trip.p95_us} us are no p50 and p95 of round trips"
            )
        if not (0 < trip.samples <= MAX_COUNT and 0 <= trip.lost <= MAX_COUNT and trip.age_ms >= 0):
            raise _broken("rtt_report: counts and ages must not be negative or absurd")


def _check_token(token: Token) -> None:
    if token.epoch.generation < 1 or token.epoch.n < 1 or token.sub < 0:
        raise _broken(f"token: {token} was never given")


def _broken(what: str) -> IntertieError:
    return PeerError(Reason.INVALID_FIELD, what, remedy="Update the region's software.")
