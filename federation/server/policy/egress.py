"""The federation's own check before it relays a task's bytes: reader and relay by their places.

A replica's place is in its configuration, and so are those of readers: a project's by its id, an
administrator's as `admin/NAME`. The region checks the same again. Must not read any bytes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from intertie.errors import Reason, error
from intertie.model.task import Task
from intertie.pki.identity import Identity
from intertie.pki.spiffe import Role
from intertie.ports import Clock
from intertie.residency import Policy, Stop, day_of, may_leave, want_of


@dataclass(frozen=True, slots=True)
class Egress:
    """See the module's text.

    Args:
        relay: jurisdiction path of this replica, empty if it has declared none.
        readers: jurisdiction paths by project, or by `admin/NAME`.
        policy: the one that holds.
        place_of: the jurisdiction of a region, empty if it is not known.
        clock: what expires goes by the day.
    """

    relay: str
    readers: Mapping[str, str]
    policy: Callable[[], Policy]
    place_of: Callable[[str], str]
    clock: Clock

    def reader(self, who: Identity) -> str:
        """Where a caller reads; empty if that is not declared."""
        if who.role is Role.ADMIN:
            return self.readers.get(f"admin/{who.name}", "")
        return self.readers.get(who.project or "", "")

    def check(self, task: Task, region: str, who: Identity) -> None:
        """Raise RESIDENCY_VIOLATION, naming the rule, unless the caller may have a task's bytes."""
        spec = task.spec
        if spec is None:
            return  # its region has the spec, and checks
        stops = (Stop("relay", self.relay), Stop("reader", self.reader(who)))
        day = day_of(self.clock.now().utc_ms)
        ruling = may_leave(self.policy(), want_of(spec), self.place_of(region), stops, day)
        if ruling.allowed:
            return
        raise error(
            Reason.RESIDENCY_VIOLATION,
            f"Logs and outputs of {task.name} may not be read from here: {ruling.reason} "
            f"(rule: {ruling.rule}).",
            remedy="Read them where the task's residency allows it (docs/residency.md).",
            metadata={"rule": ruling.rule},
        )
