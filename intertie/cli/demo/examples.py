"""The demo's tasks: the folders of `examples/`, found beside the package or named by the caller."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from intertie.errors import Reason, error
from intertie.model.spec import TaskSpec
from intertie.model.states import FailureClass, TaskState
from intertie.sdk.specfile import load_spec

TRAINING = "digits-training"
EPOCHS = "60"


@dataclass(frozen=True, slots=True)
class Example:
    """One example and what is expected of it."""

    name: str
    spec: TaskSpec
    folder: Path
    state: TaskState = TaskState.SUCCEEDED
    failure: FailureClass | None = None
    exit_code: int | None = 0


def load_examples(folder: Path) -> Sequence[Example]:
    """All of them; the training runs longer, so that it can be moved half-way."""
    loaded = [
        _load(folder, TRAINING),
        _load(folder, "digits-inference"),
        _load(folder, "numerical"),
        _load(folder, "ci-build"),
        _load(folder, "memory-hog", TaskState.FAILED, FailureClass.OOM_HOST, None),
        _load(folder, "user-error", TaskState.FAILED, FailureClass.USER, 1),
    ]
    return [_longer(example) if example.name == TRAINING else example for example in loaded]


def _longer(example: Example) -> Example:
    command = (*example.spec.run.command[:-1], EPOCHS)
    run = replace(example.spec.run, command=command)
    return replace(example, spec=replace(example.spec, run=run))


def _load(
    folder: Path,
    name: str,
    state: TaskState = TaskState.SUCCEEDED,
    failure: FailureClass | None = None,
    exit_code: int | None = 0,
) -> Example:
    path = folder / name / "task.yaml"
    if not path.exists():
        raise error(
            Reason.NOT_FOUND,
            f"There is no {path}.",
            remedy="Run it in a checkout of Intertie, or name the folder: --examples DIR.",
        )
    return Example(name, load_spec(path), path.parent, state, failure, exit_code)
