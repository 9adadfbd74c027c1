"""Is a spec one that this version can promise to run? Pure; shared by SDK, federation and region.

`validate` collects every violation into one error; `with_defaults` fills what the kind of task
implies; `shapes` says what a task takes from a node. Must not look at any region: what nothing can
run today is valid and waits.
"""

from intertie.model.spec import TaskSpec
from intertie.model.validate.defaults import with_defaults
from intertie.model.validate.places import check_places
from intertie.model.validate.resources import check_resources
from intertie.model.validate.run import check_run
from intertie.model.validate.shapes import shape, shapes
from intertie.model.validate.task import check_task
from intertie.model.validate.unserved import check_unserved
from intertie.model.validate.violations import Violations

__all__ = ["shape", "shapes", "validate", "with_defaults"]


def validate(spec: TaskSpec, *, packed: bool = True) -> None:
    """Refuse a spec that contradicts itself, is out of range, or asks for what is not served yet.

    Args:
        spec: what was asked for, before or after `with_defaults`.
        packed: whether files must have their digests, as on every server. A client that has not
            packed `run.workdir` yet checks with False.

    Raises:
        CallerError: one, with a violation per field at fault.
    """
    found = Violations()
    check_task(spec, found)
    check_run(spec, found, packed=packed)
    check_resources(spec, found)
    check_places(spec, found)
    check_unserved(spec, found)
    found.raise_if_any()
