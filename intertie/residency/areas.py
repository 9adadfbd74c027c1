"""Does a spec speak the language of the policy? Zones and classes that it names must exist.

Asked at submit; what was accepted under an earlier policy is judged by `decide`, which refuses what
it does not know.
"""

from collections.abc import Sequence

from intertie.model.jurisdiction import Jurisdiction, covering, path_fault
from intertie.model.spec import Residency, TaskSpec
from intertie.model.tags import nearest
from intertie.model.validate.iso3166 import code_fault
from intertie.model.validate.violations import Violations
from intertie.residency.policy import Policy

_SET_ONE = "Ask an administrator which zones and classes there are (intertie policy get)."


def check_against(policy: Policy, spec: TaskSpec) -> None:
    """Refuse a spec that names what the policy lacks, or contradicts it; one error for all."""
    found = Violations()
    zones = {zone.name: zone.paths for zone in policy.zones}
    residency = spec.residency
    for field in ("within", "not_within"):
        for i, area in enumerate(getattr(residency, field)):
            if area not in zones and (fault := _fault(area)):
                hint = nearest(area, zones)
                told = f"there is no zone {area[:80]!r} in the policy, and no such place{hint}"
                found.add(f"residency.{field}[{i}]", f"{told} ({fault})", remedy=_SET_ONE)
    _classes(policy, spec, found)
    _contradictions(residency, zones, found)
    found.raise_if_any()


def _fault(area: str) -> str:
    return path_fault(area) or code_fault(Jurisdiction(tuple(area.split("/"))))


def _classes(policy: Policy, spec: TaskSpec, found: Violations) -> None:
    known = dict(policy.data_classes)
    named = {"residency.data_class": spec.residency.data_class}
    for field in ("data", "model_weights"):
        for i, item in enumerate(getattr(spec, field)):
            named[f"{field}[{i}].data_class"] = item.data_class
    for where, data_class in named.items():
        if data_class and data_class not in known:
            hint = nearest(data_class, known)
            told = f"the policy has no data class {data_class[:80]!r}{hint}"
            found.add(where, told, remedy=_SET_ONE)


def _contradictions(
    residency: Residency, zones: dict[str, tuple[str, ...]], found: Violations
) -> None:
    banned = [p for area in residency.not_within for p in zones.get(area, (area,))]
    for i, area in enumerate(residency.within):
        paths: Sequence[str] = zones.get(area, (area,))
        if all(covering(banned, path) for path in paths):
            told = f"all of {area} lies in residency.not_within"
            found.contradiction(f"residency.within[{i}]", told)
