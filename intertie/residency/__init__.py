"""Where a task and its data may be: pure rules over jurisdiction paths and the policy's zones.

`decide` is the one question of all who enforce it: the router, the region on admission, the agent
before start; `may_leave` the one of every egress.
"""

from intertie.residency.compiled import compiled
from intertie.residency.days import day_of
from intertie.residency.egress import Stop, may_leave
from intertie.residency.paths import Ruling
from intertie.residency.policy import NO_POLICY, NONE, Policy, TransferRule, Zone
from intertie.residency.want import Source, Want, want, want_of

__all__ = [
    "NONE",
    "NO_POLICY",
    "Policy",
    "Ruling",
    "Source",
    "Stop",
    "TransferRule",
    "Want",
    "Zone",
    "day_of",
    "decide",
    "may_leave",
    "want",
    "want_of",
]


def decide(policy: Policy, want: Want, path: str, on: str = "") -> Ruling:
    """May a task be at a place?

    Args:
        policy: the version that holds; `NONE` if none was set.
        want: what the task asks (`want_of(spec)`).
        path: jurisdiction path of the place.
        on: the day, `YYYY-MM-DD` (`day_of(now.utc_ms)`); empty = whatever expires still holds.
    """
    return compiled(policy).at(want, path, on)
