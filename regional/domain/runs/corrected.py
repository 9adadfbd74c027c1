"""What a correction does to the sums of its run, and which corrections are refused.

Whoever verifies the log compares the net total of each grant and meter with 0 and with the cap
(`intertie.metering.audit`): a correction that breaks that is refused before it becomes a record.
Must not change anything.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from intertie.errors import IntertieError, invalid
from intertie.model.meters import METERS
from regional.domain.runs.run import RegionRun


def correction_refused(
    run: RegionRun, original: Mapping[str, Any], quantity: int
) -> IntertieError | None:
    """Why usage of this run may not be corrected by this quantity; None if it may."""
    meter, recorded = original["meter"], original["quantity"]
    if recorded + quantity < 0:
        return invalid(
            "quantity",
            f"{quantity} takes back more than the {recorded} that the record says",
            remedy="Correct each record by itself.",
        )
    if not _counts(run, meter):
        return None
    after, cap = run.billed.get(meter, 0) + quantity, run.caps.get(meter, 0)
    if after < 0:
        return invalid(
            "quantity",
            f"{quantity} leaves {after} of {meter} billed for {run.key}",
            remedy=f"Take back {run.billed.get(meter, 0)} at most.",
        )
    if after > cap:
        return invalid(
            "quantity",
            f"{quantity} makes {after} of {meter} for {run.key}; its grant allows {cap}",
            remedy=f"Add {max(0, cap - run.billed.get(meter, 0))} at most.",
        )
    return None


def corrected(run: RegionRun, meter: str, quantity: int) -> RegionRun:
    """The run with its sums as the correction leaves them."""
    if not _counts(run, meter):
        return run
    after = run.billed.get(meter, 0) + quantity
    assert 0 <= after <= run.caps.get(meter, 0), f"{meter}: {after} was to be refused"
    return replace(run, billed={**run.billed, meter: after}, revision=run.revision + 1)


def _counts(run: RegionRun, meter: str) -> bool:
    """Native work has no grant, and what only informs is not billed."""
    return not run.native and METERS[meter].billable
