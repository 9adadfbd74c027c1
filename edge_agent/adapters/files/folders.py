"""Folders of an agent's state directory, and of each run: who owns them, who may enter.

    STATE/            0711   tasks pass through, they do not look
      link/           0700   journal of runs and samples
      keeper/         0700   the keeper's own
      cache/          0700   blobs
      logs/NAME/      0700   what tasks print, written by the keeper
      runs/NAME/      0711   owned by us, so no task can replace what is in it
        work out checkpoint scratch control     0700, owned by the run's user

NAME is `<task id>-<token>`. A run's user is its slot's; without the right to change users every run
is ours, and tasks are not kept apart.
"""

import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from edge_agent.domain.events import RunKey
from intertie.errors import Reason, error
from intertie.model.names import TaskName

PASSABLE = 0o711
PRIVATE = 0o700
TASK_FOLDERS = ("work", "out", "checkpoint", "scratch", "control")


@dataclass(frozen=True, slots=True)
class RunFolders:
    """Where everything of one run is."""

    root: Path
    logs: Path

    @property
    def work(self) -> Path:
        """The working directory, filled from the task's files."""
        return self.root / "work"

    @property
    def out(self) -> Path:
        """Where outputs are expected."""
        return self.root / "out"

    @property
    def checkpoint(self) -> Path:
        """Where the task writes checkpoints and finds the one to resume from."""
        return self.root / "checkpoint"

    @property
    def scratch(self) -> Path:
        """Temporary files."""
        return self.root / "scratch"

    @property
    def control(self) -> Path:
        """Where a notice of a stop appears."""
        return self.root / "control"

    def log(self, stream: str) -> Path:
        """Base path of the segments of a stream."""
        return self.logs / stream


class Folders:
    """The layout. `first_uid` None = every run is our own user's."""

    def __init__(self, state: Path, first_uid: int | None) -> None:
        self.state = state
        self._first_uid = first_uid
        self.link = state / "link"
        self.keeper = state / "keeper"
        self.cache = state / "cache"
        self._logs = state / "logs"
        self._runs = state / "runs"

    def prepare(self) -> None:
        """Make what all runs share.

        Raises:
            IntertieError: CONFIG_INVALID if the users of tasks could not get to their folders.
        """
        for folder, mode in (
            (self.state, PASSABLE),
            (self._runs, PASSABLE),
            (self.link, PRIVATE),
            (self.keeper, PRIVATE),
            (self.cache, PRIVATE),
            (self._logs, PRIVATE),
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
                    "task_uid_base=0 to run tasks as the agent's own user.",
                )

    def uid(self, slot: int) -> int | None:
        """The user of a slot, None for our own."""
        return None if self._first_uid is None else self._first_uid + slot

    def of(self, key: RunKey) -> RunFolders:
        """The folders of a run. Raises INVALID_FIELD for a task name that is none."""
        name = f"{TaskName.parse(key.task, 'task').id}-{key.token}"
        return RunFolders(self._runs / name, self._logs / name)

    def make(self, key: RunKey, slot: int) -> RunFolders:
        """Make the folders of a run; those that exist stay as they are."""
        folders = self.of(key)
        uid = self.uid(slot)
        _make(folders.logs, PRIVATE)
        _make(folders.root, PASSABLE)
        for name in TASK_FOLDERS:
            path = folders.root / name
            if _make(path, PRIVATE) and uid is not None:
                os.chown(path, uid, uid, follow_symlinks=False)
        return folders

    def remove(self, key: RunKey) -> None:
        """Remove everything of a run. No process of it may live."""
        folders = self.of(key)
        _remove(folders.root)
        _remove(folders.logs)


def _make(path: Path, mode: int) -> bool:
    """Make one folder; False if it was there."""
    try:
        path.mkdir(mode)
    except FileExistsError:
        return False
    path.chmod(mode)
    return True


def _remove(path: Path) -> None:
    """A task may leave trees deeper than a recursion: rm walks them by descriptors."""
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except (RecursionError, OSError):
        subprocess.run(["rm", "-rf", "--", str(path)], check=False, capture_output=True)
