"""May bytes of a task leave for a reader, over a relay? Logs, outputs, checkpoints alike.

Every place on the way is a destination. Nobody who does not say where they are gets bytes of a
task that asks for anything.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from intertie.residency.compiled import compiled
from intertie.residency.paths import Ruling
from intertie.residency.policy import Policy
from intertie.residency.want import Want

_FREE = Ruling(True, "any", "the task has no residency bounds")


@dataclass(frozen=True, slots=True)
class Stop:
    """A place on the way of bytes: who (`reader`, `relay`), and its path, empty if undeclared."""

    who: str
    path: str


def may_leave(policy: Policy, want: Want, source: str, stops: Iterable[Stop], on: str) -> Ruling:
    """Whether bytes of a task at a place may go all this way; the first stop that forbids decides.

    The result of a task is of the strictest kind: its own class and those of all of its inputs.
    """
    if not want.is_restricted:
        return _FREE
    table, ruling = compiled(policy), _FREE
    classes = {want.data_class, *(item.data_class for item in want.sources)} - {""}
    for stop in stops:
        if not stop.path:
            reason = f"the {stop.who} has declared no jurisdiction"
            return Ruling(False, f"undeclared {stop.who}", reason)
        ruling = table.bounds(want, stop.path)
        if not ruling.allowed:
            return Ruling(False, ruling.rule, f"the {stop.who}: {ruling.reason}")
        for data_class in sorted(classes):
            ruling = table.transfer(data_class, want.basis, source, stop.path, on)
            if not ruling.allowed:
                return Ruling(False, ruling.rule, f"the {stop.who}: {ruling.reason}")
    return ruling
