"""The lock of a state directory: one process at a time, released by the kernel when it dies."""

import fcntl
import os
from pathlib import Path

from intertie.errors import Reason, error

LOCK_NAME = "lock"


class StateDirLock:
    """Holds `<directory>/lock` by flock(2) from construction to `release`.

    The file holds the pid of the holder, for people; the lock itself is the kernel's. It belongs to
    the open file, so a second lock in the same process is refused too.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = directory / LOCK_NAME
        self._fd: int | None = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as taken:
            holder = os.pread(self._fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            self.release()
            raise error(
                Reason.STATE_DIR_IN_USE,
                f"{directory} is used by process {holder}.",
                remedy=f"Stop process {holder}, or use another state directory.",
                metadata={"pid": holder, "path": str(directory)},
            ) from taken
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode("ascii"), 0)

    def release(self) -> None:
        """Let others in; idempotent. The file stays: to remove it would race the next holder."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
