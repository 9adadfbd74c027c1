"""From a placed run to the order that its node gets: everything the agent needs and nothing
more.
"""

from collections.abc import Callable

from intertie.model.agentlink import StartRun
from intertie.model.task import StoredFile
from regional.domain.runs.run import RegionRun

Areas = Callable[[tuple[str, ...]], tuple[str, ...]]


def start_order(run: RegionRun, lease_ms: int, paths: Areas) -> StartRun:
    """The StartRun of the present placement. `lease_ms` counts for `move` runs only; `paths` turns
    zones into what an agent can compare with its site.
    """
    assert run.node, "only a placed run is started"
    assert run.token.sub > 0, "a placement has a token of its own"
    assert run.is_move or not lease_ms, "only `move` runs live on a lease"
    spec = run.spec
    variant = spec.run.variants[run.variant] if 0 <= run.variant < len(spec.run.variants) else None
    command = variant.command if variant is not None and variant.command else spec.run.command
    return StartRun(
        task=run.task,
        run=run.token.epoch.n,
        token=run.token,
        index=run.index,
        rank=0,
        nodes=1,
        command=command,
        shell=spec.run.shell,
        env=environment(run),
        files=tuple(StoredFile(path=f.path, sha256=f.sha256, size=f.size) for f in spec.run.files),
        modes=tuple(f.mode for f in spec.run.files),
        outputs=tuple(output.path for output in spec.outputs),
        cpu=run.shape.cpu,
        memory=run.shape.memory,
        disk=run.shape.disk,
        devices=run.devices,
        timeout_ms=spec.run.timeout,
        is_move=run.is_move,
        lease_ms=lease_ms,
        checkpoint_interval_ms=spec.checkpoint.interval if spec.checkpoint is not None else 0,
        checkpoint=run.checkpoint,
        within=paths(spec.residency.within),
        not_within=paths(spec.residency.not_within),
    )


def environment(run: RegionRun) -> dict[str, str]:
    """The part of the task's environment that does not depend on the node (contract.md)."""
    return {
        **run.spec.run.env,
        "INTERTIE_TASK": run.task,
        "INTERTIE_RUN": str(run.token.epoch.n),
        "INTERTIE_ARRAY_INDEX": str(run.index),
        "INTERTIE_NODES": "1",
        "INTERTIE_NODE_RANK": "0",
    }
