"""Fields that have their place and are not served yet: refused by name, never ignored.

An ignored bound would be a broken promise. A line leaves this table when the version serves the
field.
"""

from collections.abc import Callable, Mapping

from intertie.model.spec import Isolation, Kind, TaskSpec
from intertie.model.states import OnDisconnect
from intertie.model.validate.violations import Violations

_NOT_SERVED = "is not served by this version"

UNSERVED: Mapping[str, tuple[Callable[[TaskSpec], object], str]] = {
    "kind": (lambda s: s.kind is Kind.SERVICE, "Use another kind."),
    "run.image": (lambda s: s.run.image, "Use run.command."),
    "run.function": (lambda s: s.run.function, "Use run.command."),
    "run.variants.image": (lambda s: any(v.image for v in s.run.variants), "Use their commands."),
    "resources.shm": (lambda s: s.resources.shm, "Leave it out."),
    "resources.accelerators.fraction": (
        lambda s: s.resources.accelerators.fraction,
        "Ask for whole devices with resources.accelerators.count.",
    ),
    "resources.accelerators.isolation": (
        lambda s: s.resources.accelerators.isolation is not Isolation.NONE,
        "Whole devices are never shared; leave it out.",
    ),
    "run.variants.resources": (
        lambda s: any(
            v.resources.shm
            or v.resources.accelerators.fraction
            or v.resources.accelerators.isolation is not Isolation.NONE
            for v in s.run.variants
            if v.resources is not None
        ),
        "Leave out shm, fraction and isolation.",
    ),
    "gang": (
        lambda s: (
            s.gang is not None and (s.gang.nodes != 1 or s.gang.rdma or s.gang.topology.required)
        ),
        "Ask for one node.",
    ),
    "data": (lambda s: s.data, "Put inputs into run.files or run.workdir."),
    "model_weights": (lambda s: s.model_weights, "Put weights into run.files or run.workdir."),
    "checkpoint.uri": (
        lambda s: s.checkpoint is not None and s.checkpoint.uri,
        "Leave it out: the region keeps checkpoints.",
    ),
    "outputs.uri": (lambda s: any(o.uri for o in s.outputs), "Use path: the region keeps it."),
    "tolerance.on_disconnect": (
        lambda s: s.tolerance.on_disconnect is OnDisconnect.DUPLICATE,
        "Use stay or move.",
    ),
    "tolerance.deadline": (lambda s: s.tolerance.deadline, "Use run.timeout."),
}
"""Field -> (whether a spec uses it, what to do instead)."""


def check_unserved(spec: TaskSpec, found: Violations) -> None:
    """Refuse each field that this version does not serve."""
    for field, (uses, remedy) in UNSERVED.items():
        if uses(spec):
            found.add(field, f"{_NOT_SERVED}. {remedy}")
