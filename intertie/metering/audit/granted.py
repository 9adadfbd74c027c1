"""Whether a record is what its own grant allows: one rule for who verifies and for who bills.

Judges one record against one grant; sums over records are `Auditor`'s and the bill's. Must not ask
who signed a grant, nor what anything costs.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from intertie.metering.grant import Grant


class Refusal(StrEnum):
    """Why a record may not be billed under the grant that it cites. Never renamed."""

    NO_GRANT = "no_grant"
    OTHER_LOG = "other_log"
    OTHER_TASK = "other_task"
    OTHER_REGION = "other_region"
    OTHER_PAYER = "other_payer"
    OTHER_PROJECT = "other_project"
    OTHER_EPOCH = "other_epoch"
    METER_NOT_GRANTED = "meter_not_granted"


_SAME = (
    ("task", Refusal.OTHER_TASK),
    ("region", Refusal.OTHER_REGION),
    ("payer", Refusal.OTHER_PAYER),
    ("project", Refusal.OTHER_PROJECT),
)


def refusal(grant: Grant, record: Mapping[str, Any]) -> Refusal | None:
    """Why a usage record or a correction is not under this grant; None if it is."""
    assert "meter" in record, f"a {record.get('kind')} is not metered"
    for name, why in _SAME:
        if getattr(grant, name) != record[name]:
            return why
    if not record["run"].startswith(f"{grant.epoch}."):
        return Refusal.OTHER_EPOCH
    if record["meter"] not in grant.maximum:
        return Refusal.METER_NOT_GRANTED
    return None


def describe(grant: Grant, record: Mapping[str, Any], why: Refusal) -> str:
    """The refusal for people: the field, the value that was granted, the value recorded."""
    cited = record["grant_sha256"]
    if why is Refusal.METER_NOT_GRANTED:
        return f"{record['meter']}: grant {cited} does not have it"
    if why is Refusal.OTHER_EPOCH:
        return f"run: grant {cited} is for epoch {grant.epoch}, got {record['run']}"
    for name, word in _SAME:
        if word is why:
            return f"{name}: grant {cited} is for {getattr(grant, name)}, got {record[name]}"
    raise AssertionError(f"{why} is no refusal of a grant")
