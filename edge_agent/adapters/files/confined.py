"""Files that a task wrote, opened so that no link leads outside and no pipe makes us wait.

The agent may have more rights than the task. So every part of a path is opened by itself, without
following links, below a folder that the task cannot replace; only plain files of the run's own user
are read: a hard link to somebody else's file is not the task's to give away.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from intertie.model.texts import relative_path_fault

MAX_FILES = 10_000
MAX_DEPTH = 64
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class RefusedError(Exception):
    """A path that is not a plain file of the task; the text says what it is."""


@dataclass(frozen=True, slots=True)
class Confined:
    """A folder of a run. `uid` is its user; None = ours, then owners are not told apart."""

    folder: Path
    uid: int | None

    def open(self, path: str) -> int:
        """A descriptor of a plain file at a relative path; the caller closes it.

        Raises:
            FileNotFoundError: there is none.
            RefusedError: there is something else.
        """
        *parents, name = path.split("/")
        with self._folder(parents) as folder:
            try:
                fd = os.open(name, _FILE, dir_fd=folder)
            except OSError as fault:
                raise _refusal(path, fault) from fault
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(fd)
            raise RefusedError(f"{path} is no plain file")
        if self.uid is not None and status.st_uid != self.uid:
            os.close(fd)
            raise RefusedError(f"{path} is not the task's own file")
        return fd

    def files(self, path: str) -> list[str]:
        """The plain files at a path: itself, or those below it, in order.

        Raises:
            FileNotFoundError: there is nothing.
            RefusedError: too many, too deep, or with names that are no text.
        """
        if path and not self._is_folder(path):
            return [path]
        found: list[str] = []
        pending = [(path, 0)]
        while pending:
            folder, depth = pending.pop()
            if depth > MAX_DEPTH:
                raise RefusedError(f"{folder[:120]} is over {MAX_DEPTH} folders deep")
            for name, is_folder in self._entries(folder):
                below = f"{folder}/{name}" if folder else name
                if is_folder:
                    pending.append((below, depth + 1))
                    continue
                fault = relative_path_fault(below)
                if fault:
                    raise RefusedError(fault)
                found.append(below)
                if len(found) > MAX_FILES:
                    raise RefusedError(f"there are over {MAX_FILES} files")
        return sorted(found)

    def _entries(self, folder: str) -> list[tuple[str, bool]]:
        """Plain files and folders; links, pipes and sockets are passed over."""
        with self._folder(folder.split("/") if folder else []) as fd, os.scandir(fd) as entries:
            return [
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
            ]

    def _is_folder(self, path: str) -> bool:
        *parents, name = path.split("/")
        with self._folder(parents) as folder:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return stat.S_ISDIR(status.st_mode)

    @contextmanager
    def _folder(self, parts: list[str]) -> Iterator[int]:
        fd = os.open(self.folder, _FOLDER)
        try:
            for number, part in enumerate(parts, start=1):
                try:
                    below = os.open(part, _FOLDER, dir_fd=fd)
                except OSError as fault:
                    raise _refusal("/".join(parts[:number]), fault) from fault
                os.close(fd)
                fd = below
            yield fd
        finally:
            os.close(fd)


def _refusal(path: str, fault: OSError) -> Exception:
    if isinstance(fault, FileNotFoundError):
        return fault
    return RefusedError(f"{path} cannot be read: {fault.strerror}")
