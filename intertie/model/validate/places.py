"""Checks of where a task may be: residency paths, and regions wished for or excluded."""

import re
from collections.abc import Sequence

from intertie.model.jurisdiction import ZONE, Jurisdiction, covering, path_fault
from intertie.model.names import REGION
from intertie.model.spec import Placement, Residency, RunSpec, TaskSpec
from intertie.model.validate import limits
from intertie.model.validate.iso3166 import code_fault
from intertie.model.validate.task import check_duration
from intertie.model.validate.violations import Violations

MAX_REFERENCE = 1_000
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_DAY = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
_UNSAID = TaskSpec(run=RunSpec())
"""A spec that says nothing: what is left out is this very object, in most specs."""


def check_places(spec: TaskSpec, found: Violations) -> None:
    """Check `residency` and `placement`. Zones are judged where the policy is known."""
    if spec.residency is not _UNSAID.residency:
        _residency(spec.residency, found)
    if spec.placement is not _UNSAID.placement:
        _placement(spec.placement, found)


def _residency(residency: Residency, found: Violations) -> None:
    _names(residency, found)
    good = _paths("residency.within", residency.within, found)
    good &= _paths("residency.not_within", residency.not_within, found)
    if not good:
        return
    for i, area in enumerate(residency.within):
        banned = covering(residency.not_within, area)
        if banned:
            found.contradiction(
                f"residency.within[{i}]", f"{area} lies in {banned} of residency.not_within"
            )


def _names(residency: Residency, found: Violations) -> None:
    """Which classes there are is known to the policy alone; their form is checked here."""
    basis = residency.transfer_basis
    named = {"data_class": residency.data_class, "transfer_basis.basis": basis.basis}
    for field, name in named.items():
        if name and not _NAME.fullmatch(name):
            found.add(f"residency.{field}", f"{name[:80]!r} is no name (a-z, 0-9, - and _)")
    if len(basis.reference) > MAX_REFERENCE:
        found.too_large("residency.transfer_basis.reference", f"the limit is {MAX_REFERENCE}")
    if basis.expires and not _DAY.fullmatch(basis.expires):
        told = f"{basis.expires[:40]!r} is no day, like 2027-12-31"
        found.add("residency.transfer_basis.expires", told)
    if (basis.reference or basis.expires) and not basis.basis:
        found.contradiction("residency.transfer_basis", "has no basis")


def _paths(field: str, paths: Sequence[str], found: Violations) -> bool:
    if len(paths) > limits.MAX_LIST:
        found.too_large(field, f"{len(paths)} entries; the limit is {limits.MAX_LIST}")
        return False
    good = True
    for i, path in enumerate(paths):
        if ZONE.fullmatch(path):
            continue  # a country, or a zone of the policy, which is known to the federation alone
        fault = path_fault(path) or code_fault(Jurisdiction(tuple(path.split("/"))))
        if fault:
            good = False
            found.add(f"{field}[{i}]", fault, remedy="Write a path like DE/DE-HE/fra1, or a zone.")
    return good


def _placement(placement: Placement, found: Violations) -> None:
    for name in ("only", "never", "prefer"):
        regions: Sequence[str] = getattr(placement, name)
        if len(regions) > limits.MAX_LIST:
            found.too_large(f"placement.{name}", f"the limit is {limits.MAX_LIST} entries")
        for i, region in enumerate(regions):
            if not REGION.fullmatch(region):
                found.add(
                    f"placement.{name}[{i}]",
                    f"{region[:80]!r} is not the id of a region (operators and zones are not served"
                    " by this version)",
                )
    for name in ("only", "prefer"):
        for region in set(getattr(placement, name)) & set(placement.never):
            found.contradiction(f"placement.{name}", f"{region} is in placement.never too")
    check_duration("placement.spill_after", placement.spill_after, found)
    if placement.spill_after and not placement.prefer:
        found.contradiction(
            "placement.spill_after", "placement.prefer names no region to spill from"
        )
    if placement.only:
        for region in sorted(set(placement.prefer) - set(placement.only)):
            found.contradiction("placement.prefer", f"{region} is not in placement.only")
