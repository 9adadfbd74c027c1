"""Makes and removes the trees of runs; a tree that its run has not touched is used again.

Seven folders a run would be most of what a short task costs a node. A folder may be passed on when
it is empty and has the mode, owner and change time that it had before the run: the kernel sets that
time on any change of entries or attributes, and no task can set it back. It is no finer than a
tick, so all that could be passed on is looked at as well.

Removal waits for the disk, so a thread of its own does it, one run after the other.
"""

# ruff: noqa: PTH101, PTH102, PTH104, PTH108, PTH112, PTH208 - a Path costs more than the call

import os
import queue
import shutil
import stat
import subprocess
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress

from edge_agent.adapters.files.folders import (
    LOGS,
    PRIVATE,
    TASK_FOLDERS,
    Folders,
    RunFolders,
)
from edge_agent.domain.events import RunKey

MAX_SPARE = 64
ENTERED_BY_GROUP = 0o710
"""Of the root of a tree, whose group is that of the run's user: whatever modes a task gives its
folders, no other task comes near them.
"""

Stamps = tuple[int, ...]
"""Change times of the folders of a run's user."""


class Trees:
    """See the module's text. `start` before use."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._spare: deque[str] = deque()
        self._stamps: dict[RunKey, Stamps] = {}
        self._number = 0
        self._queue: queue.SimpleQueue[tuple[str, Stamps | None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin with an empty store of trees: nobody knows any more who has touched those of an
        earlier life. Blocks.
        """
        for name in os.listdir(self._folders.spare):
            remove_tree(f"{self._folders.spare}/{name}")
        self._thread = threading.Thread(target=self._remove_all, name="removals", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish what is queued. Blocks."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def make(self, key: RunKey, slot: int) -> RunFolders:
        """The folders of a run, owned by its user; those that exist stay as they are.

        Raises:
            IntertieError: INVALID_FIELD for a task name that is none.
            OSError: the disk refused.
        """
        folders = self._folders.of(key)
        if not os.path.isdir(folders.root):
            tree = RunFolders(self._spare.popleft() if self._spare else _built(folders.root))
            uid = self._folders.uid(slot)
            if uid is not None:
                os.chown(tree.root, -1, uid, follow_symlinks=False)
                for path in tree.of_task():
                    os.chown(path, uid, uid, follow_symlinks=False)
            # Only a complete tree appears under its name, whenever this process may die.
            os.rename(tree.root, folders.root)
            self._stamps[key] = _stamps(folders)
        return folders

    def discard(self, key: RunKey) -> None:
        """Remove everything of a run, in a while. No process of it may live."""
        self._queue.put((self._folders.of(key).root, self._stamps.pop(key, None)))

    def discard_unknown(self, known: Iterable[RunKey]) -> None:
        """Remove what runs left that were forgotten just before this process died. Blocks."""
        roots = {self._folders.of(key).root for key in known}
        for name in os.listdir(self._folders.runs):
            root = f"{self._folders.runs}/{name}"
            if root not in roots:
                self._queue.put((root, None))

    def _remove_all(self) -> None:
        while (item := self._queue.get()) is not None:
            root, stamps = item
            if stamps is None or not self._keep(RunFolders(root), stamps):
                remove_tree(root)

    def _keep(self, folders: RunFolders, stamps: Stamps) -> bool:
        """Make a spare tree of an untouched one; False if it is none."""
        if len(self._spare) >= MAX_SPARE:
            return False
        try:
            if _stamps(folders) != stamps or not all(_is_blank(p) for p in folders.of_task()):
                return False
            logs = f"{folders.root}/{LOGS}"
            for name in os.listdir(logs):
                os.unlink(f"{logs}/{name}")
            self._number += 1
            spare = f"{self._folders.spare}/{self._number}"
            os.rename(folders.root, spare)
        except OSError:
            return False
        self._spare.append(spare)
        return True


def _built(root: str) -> str:
    """A fresh tree beside where it will be; what a crash may have left there goes."""
    unfinished = f"{root}.new"
    remove_tree(unfinished)
    os.mkdir(unfinished, ENTERED_BY_GROUP)
    os.chmod(unfinished, ENTERED_BY_GROUP)
    for name in (*TASK_FOLDERS, LOGS):
        os.mkdir(f"{unfinished}/{name}", PRIVATE)
    return unfinished


def _is_blank(path: str) -> bool:
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    return mode == PRIVATE and not os.listdir(path) and not os.listxattr(path)


def _stamps(folders: RunFolders) -> Stamps:
    return tuple(os.lstat(path).st_ctime_ns for path in folders.of_task())


def remove_tree(path: str) -> None:
    """Remove a folder and all below it. Blocks.

    A task may leave trees deeper than a recursion: rm walks them by descriptors.
    """
    with suppress(FileNotFoundError):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            raise
        except (RecursionError, OSError):
            subprocess.run(["rm", "-rf", "--", path], check=False, capture_output=True)
