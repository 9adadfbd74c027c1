"""What a grant allows: the cap per meter of one assignment (metering.md).

Canonical bytes only; signing is the shell's. The cap is generous by design: it bounds what a lying
or broken region can bill, it does not estimate.
"""

from intertie.metering import canonical
from intertie.model.pool import Shape
from intertie.model.task import Run, Task

MAX_RUN_MS = 7 * 24 * 3_600_000
"""Longest run of a task without a time limit, for its cap."""
_MARGIN_MS = 60_000


def grant_bytes(
    task: Task, run: Run, shape: Shape, spec_sha256: str, local_retries: int, price_version: str
) -> bytes:
    """The canonical bytes of the grant for the newest run of a task."""
    assert task.spec is not None, "a live task holds its spec"
    per_placement_ms = (task.spec.run.timeout or MAX_RUN_MS) + _MARGIN_MS
    wall_ms = per_placement_ms * (1 + local_retries)
    caps = {
        "max_cpu_held_core_ms": wall_ms * shape.cpu // 1000,
        "max_mem_held_mib_ms": wall_ms * (shape.memory >> 20),
        "max_accelerator_held_device_ms": wall_ms * shape.devices,
    }
    return canonical.encode(
        {
            "type": "intertie.grant/v1",
            "task": str(task.name),
            "epoch": str(run.token.epoch),
            "region": run.region,
            "payer": task.project,
            "spec_sha256": spec_sha256,
            "price_version": price_version,
            "policy_sha256": "",
            "not_after_ms": run.assigned_ms + wall_ms,
            **caps,
        }
    )
