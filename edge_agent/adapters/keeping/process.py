"""The keeper's process: started if none serves, so that it outlives whoever started it.

Must not stop a keeper: its tasks would die.
"""

import os
from pathlib import Path

from edge_agent.keeper import launch
from edge_agent.keeper.main import EXIT_LOCKED, EXIT_SCHEMA
from intertie.errors import Reason, error

LOG_NAME = "keeper.log"
MAX_LOG_BYTES = 8 << 20


class KeeperProcess:
    """Starts the keeper of one state directory.

    Args:
        directory: the keeper's own state directory.
        cgroup: `auto` or `none`.
        kill_ms: T_kill, within which a kill must be verified.
    """

    def __init__(self, directory: Path, *, cgroup: str, kill_ms: int) -> None:
        self._directory = directory
        self._command = launch.command(str(directory), cgroup=cgroup, t_kill_ms=kill_ms)
        self._pid = 0
        self.starts = 0
        """How many keepers were started in this life of the agent."""

    @property
    def socket_path(self) -> str:
        """Where it listens."""
        return launch.socket_path(str(self._directory))

    def ensure(self) -> None:
        """Start a keeper unless the one that was started here still lives.

        One that somebody else started holds the lock; then ours leaves at once, and that is fine.

        Raises:
            IntertieError: STATE_DIR_NEWER for a directory that this keeper cannot read.
        """
        if self._pid:
            status = self._reaped()
            if status is None:
                return
            if status == EXIT_SCHEMA:
                raise error(
                    Reason.STATE_DIR_NEWER,
                    f"The keeper cannot read {self._directory}; see {LOG_NAME} in it.",
                    remedy="Run the version that wrote it, or start with an empty directory.",
                )
            if status == EXIT_LOCKED:
                return
        self._start()

    def _start(self) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._directory / LOG_NAME
        if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        # No subprocess.Popen: it holds that a child must not outlive it, and a keeper has to.
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._pid = os.posix_spawn(
                self._command[0],
                self._command,
                {},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, null, 0),
                    (os.POSIX_SPAWN_DUP2, log, 1),
                    (os.POSIX_SPAWN_DUP2, log, 2),
                ],
                setsid=True,
            )
        finally:
            os.close(log)
            os.close(null)
        self.starts += 1

    def reap(self) -> None:
        """Collect the exit status of a keeper that was started here and died."""
        if self._pid:
            self._reaped()

    def _reaped(self) -> int | None:
        """The exit status if it has ended, None while it lives."""
        try:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            pid, status = self._pid, 0  # somebody else has collected it
        if not pid:
            return None
        self._pid = 0
        return os.waitstatus_to_exitcode(status)
