"""What a grant allows: the cap per meter of one assignment (metering.md).

Bytes only; signing is the shell's. The cap is generous by design: it bounds what a lying or broken
region can bill, it does not estimate.
"""

from intertie.metering.grant import Grant
from intertie.model.pool import Shape
from intertie.model.task import Task
from intertie.residency import NONE, Policy

MAX_RUN_MS = 7 * 24 * 3_600_000
"""Longest run of a task without a time limit, for its cap; also how long a start may wait."""
_MARGIN_MS = 60_000
_MIB = 1 << 20


def grant_of(
    task: Task,
    shape: Shape,
    spec_sha256: str,
    local_retries: int,
    price_version: str,
    policy: Policy = NONE,
) -> Grant:
    """The grant for the newest run of a task. The same arguments give the same bytes."""
    run = task.run
    assert run is not None, "an assigned task has a run"
    assert task.spec is not None, "a live task holds its spec"
    assert local_retries >= 0, "retries are counted from the attempts that are left"
    wall_ms = ((task.spec.run.timeout or MAX_RUN_MS) + _MARGIN_MS) * (1 + local_retries)
    maximum = {
        "cpu.held_core_ms": -(-wall_ms * shape.cpu // 1000),
        "mem.held_mib_ms": wall_ms * -(-shape.memory // _MIB),
    }
    if shape.devices:
        maximum["accelerator.held_device_ms"] = wall_ms * shape.devices
    return Grant(
        task=task.id,
        epoch=str(run.token.epoch),
        region=run.region,
        project=task.project,
        payer=task.project,
        spec_sha256=spec_sha256,
        maximum=maximum,
        price_version=price_version,
        policy_sha256=policy.sha256 if policy.is_set else "",
        not_after_ms=run.assigned_ms + MAX_RUN_MS,
    )
