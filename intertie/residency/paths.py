"""May a task and its data be at a place? The rule of residency over jurisdiction paths.

One function for all who enforce it: the router, the region on admission, the agent before start,
and every egress. A place that is known only roughly is refused when a part of it is forbidden.
Named zones and transfer rules come with policy; here an area is a path and what lies below it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from intertie.model.jurisdiction import covering, covers, path_fault


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether a place is allowed, the rule that decided (`within CN`), and why, for people."""

    allowed: bool
    rule: str
    reason: str


def allowed(path: str, within: Sequence[str], not_within: Sequence[str]) -> Ruling:
    """Decide on a place, given by its jurisdiction path, under the bounds of a spec.

    `not_within` is stronger than `within`; an empty `within` is everywhere. A place without a valid
    path is allowed only where nothing is asked for.
    """
    if not within and not not_within:
        return Ruling(True, "any", "the task has no residency bounds")
    fault = path_fault(path)
    if fault:
        return Ruling(False, "jurisdiction", f"the place is not known: {fault}")
    banned = covering(not_within, path)
    if banned:
        return Ruling(False, f"not_within {banned}", f"{path} is within {banned}")
    vague = next((area for area in not_within if covers(path, area)), "")
    if vague:
        return Ruling(False, f"not_within {vague}", f"{path} is not known to be outside of {vague}")
    home = covering(within, path)
    if within and not home:
        bounds = ", ".join(within)
        return Ruling(False, f"within {bounds}", f"{path} is not within {bounds}")
    rule = f"within {home}" if home else f"not_within {', '.join(not_within)}"
    return Ruling(True, rule, f"{path} holds {rule}")
