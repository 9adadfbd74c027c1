"""Folders of an agent's state directory, and of each run: who owns them, who may enter.

    STATE/            0711   tasks pass through, they do not look
      link/           0700   journal of runs and samples
      keeper/         0700   the keeper's own
      cache/          0700   blobs
      spare/          0700   trees of runs that are ready for use
      runs/NAME/      0711   owned by us, so no task can replace what is in it
        work out checkpoint scratch control     0700, owned by the run's user
        logs          0700   ours: what the task prints, written by the keeper

NAME is `<task id>-<token>`. A run's user is its slot's; without the right to change users every run
is ours, and tasks are not kept apart.
"""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edge_agent.domain.events import RunKey
from intertie.errors import Reason, error
from intertie.model.names import TaskName

PASSABLE = 0o711
PRIVATE = 0o700
TASK_FOLDERS = ("work", "out", "checkpoint", "scratch", "control")
LOGS = "logs"


@dataclass(frozen=True, slots=True)
class RunFolders:
    """Where everything of one run is, as absolute paths."""

    root: str

    @property
    def work(self) -> str:
        """The working directory, filled from the task's files."""
        return f"{self.root}/work"

    @property
    def out(self) -> str:
        """Where outputs are expected."""
        return f"{self.root}/out"

    @property
    def checkpoint(self) -> str:
        """Where the task writes checkpoints and finds the one to resume from."""
        return f"{self.root}/checkpoint"

    @property
    def scratch(self) -> str:
        """Temporary files."""
        return f"{self.root}/scratch"

    @property
    def control(self) -> str:
        """Where a notice of a stop appears."""
        return f"{self.root}/control"

    def log(self, stream: str) -> str:
        """Base path of the segments of a stream."""
        return f"{self.root}/{LOGS}/{stream}"

    def of_task(self) -> Iterator[str]:
        """The folders that belong to the run's user."""
        return (f"{self.root}/{name}" for name in TASK_FOLDERS)


class Folders:
    """The layout. `first_uid` None = every run is our own user's."""

    def __init__(self, state: Path, first_uid: int | None) -> None:
        self.state = state
        self._first_uid = first_uid
        self.link = state / "link"
        self.keeper = state / "keeper"
        self.cache = state / "cache"
        self.spare = state / "spare"
        self.runs = state / "runs"

    def prepare(self) -> None:
        """Make what all runs share.

        Raises:
            IntertieError: CONFIG_INVALID if the users of tasks could not get to their folders.
        """
        for folder, mode in (
            (self.state, PASSABLE),
            (self.runs, PASSABLE),
            (self.link, PRIVATE),
            (self.keeper, PRIVATE),
            (self.cache, PRIVATE),
            (self.spare, PRIVATE),
        ):
            folder.mkdir(mode=mode, parents=True, exist_ok=True)
            folder.chmod(mode)
        if self._first_uid is not None:
            self._check_passable()

    def _check_passable(self) -> None:
        for folder in self.state.resolve().parents:
            if not folder.stat().st_mode & stat.S_IXOTH:
                raise error(
                    Reason.CONFIG_INVALID,
                    f"{folder} cannot be passed by other users, so tasks could not reach "
                    f"their folders below {self.state}.",
                    remedy=f"Run chmod o+x {folder}, set another state directory, or set "
                    "uid_base=0 to run tasks as the agent's own user.",
                )

    def uid(self, slot: int) -> int | None:
        """The user of a slot, None for our own."""
        return None if self._first_uid is None else self._first_uid + slot

    def of(self, key: RunKey) -> RunFolders:
        """The folders of a run. Raises INVALID_FIELD for a task name that is none."""
        name = f"{TaskName.parse(key.task, 'task').id}-{key.token}"
        return RunFolders(f"{self.runs}/{name}")
