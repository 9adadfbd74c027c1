"""Checks of where a task may be: residency paths, and regions wished for or excluded."""

from collections.abc import Sequence

from intertie.model.jurisdiction import Jurisdiction, covering, path_fault
from intertie.model.names import REGION
from intertie.model.spec import Placement, Residency, RunSpec, TaskSpec
from intertie.model.validate import limits
from intertie.model.validate.iso3166 import code_fault
from intertie.model.validate.violations import Violations

_UNSAID = TaskSpec(run=RunSpec())
"""A spec that says nothing: what is left out is this very object, in most specs."""


def check_places(spec: TaskSpec, found: Violations) -> None:
    """Check `residency` and `placement`."""
    if spec.residency is not _UNSAID.residency:
        _residency(spec.residency, found)
    if spec.placement is not _UNSAID.placement:
        _placement(spec.placement, found)


def _residency(residency: Residency, found: Violations) -> None:
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


def _paths(field: str, paths: Sequence[str], found: Violations) -> bool:
    if len(paths) > limits.MAX_LIST:
        found.too_large(field, f"{len(paths)} entries; the limit is {limits.MAX_LIST}")
        return False
    good = True
    for i, path in enumerate(paths):
        fault = path_fault(path) or code_fault(Jurisdiction(tuple(path.split("/"))))
        if fault:
            good = False
            found.add(f"{field}[{i}]", fault, remedy="Write a path like DE, DE/DE-HE/fra1.")
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
    if placement.only:
        for region in sorted(set(placement.prefer) - set(placement.only)):
            found.contradiction("placement.prefer", f"{region} is not in placement.only")
