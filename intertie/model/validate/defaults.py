"""What a kind of task implies where the spec says nothing.

    training, fine_tuning    a checkpoint block, if there is none
    any kind                 checkpoint.interval 10 min, if the block has none

Nothing else: a default that a person cannot see in `task show` would surprise. Applied once, when a
task is accepted, after its request was digested.
"""

from dataclasses import replace

from intertie.model.spec import CheckpointSpec, Kind, TaskSpec

CHECKPOINT_INTERVAL_MS = 600_000

_SAVES_STATE = frozenset({Kind.TRAINING, Kind.FINE_TUNING})


def with_defaults(spec: TaskSpec) -> TaskSpec:
    """The spec with what its kind implies; a second application changes nothing."""
    checkpoint = spec.checkpoint
    if checkpoint is None and spec.kind in _SAVES_STATE:
        checkpoint = CheckpointSpec()
    if checkpoint is None or checkpoint.interval:
        return spec
    return replace(spec, checkpoint=replace(checkpoint, interval=CHECKPOINT_INTERVAL_MS))
