"""Starting the keeper: lock, journal, containment, recovery, loop.

    python -I -S .../edge_agent/keeper/__main__.py STATE_DIR [--cgroup none] [--t-kill-ms N]

Exit status: 0 after a complete shutdown, 2 usage, 3 another keeper holds the directory, 4 the
directory was written by a newer version or is damaged.
"""

import fcntl
import gc
import os
import resource
import sys

from edge_agent.keeper import mounts, protocol
from edge_agent.keeper.diary import log
from edge_agent.keeper.disk.journal import Journal, SchemaError
from edge_agent.keeper.domain.table import Table
from edge_agent.keeper.machine import linux
from edge_agent.keeper.machine.cgroup import Backend, CgroupFs
from edge_agent.keeper.machine.containment import NO_GROUPS, contain, machine_mounts
from edge_agent.keeper.machine.recovery import recover
from edge_agent.keeper.shell import Shell

EXIT_USAGE = 2
EXIT_LOCKED = 3
EXIT_SCHEMA = 4
T_KILL_MS = 10_000
USAGE = "usage: keeper STATE_DIR [--cgroup auto|none] [--t-kill-ms N]\n"


def main(arguments: list[str]) -> int:
    """Run a keeper until it is told to stop."""
    options = _options(arguments)
    if options is None:
        sys.stderr.write(USAGE)
        return EXIT_USAGE
    directory, cgroup, t_kill_ms = options
    os.makedirs(directory, mode=0o700, exist_ok=True)
    lock = _lock(os.path.join(directory, "keeper.lock"))
    if lock is None:
        log("locked", directory=directory)
        return EXIT_LOCKED
    try:
        journal = Journal(directory, os.urandom(6).hex())
    except SchemaError as error:
        log("schema", error=str(error))
        return EXIT_SCHEMA
    _let_go_of_streams()
    linux.become_subreaper()
    backend = None if cgroup == "none" else contain(CgroupFs(), machine_mounts(), journal.keeper_id)
    table = _recovered_table(journal, backend, t_kill_ms)
    socket_path = os.path.join(directory, protocol.SOCKET_NAME)
    features = (
        (*protocol.FEATURES, protocol.OWN_MOUNTS) if mounts.are_possible() else protocol.FEATURES
    )
    shell = Shell(table, journal, backend, socket_path, _raise_open_files(), features)
    log("serving", backend=backend.name if backend else NO_GROUPS, runs=len(table.runs))
    gc.freeze()  # what is here now stays; a collection would only make each fork copy its pages
    shell.run()
    if backend is not None:
        backend.close()
    journal.close()
    return 0


def _recovered_table(journal: Journal, backend: Backend | None, t_kill_ms: int) -> Table:
    kept = journal.load()
    runs, lost = recover(kept.runs, backend, clock=linux.boot_ns, t_kill_ms=t_kill_ms)
    table = Table(linux.boot_id(), t_kill_ms=t_kill_ms, runs=tuple(runs), fences=kept.fences)
    journal.rewrite(table.runs.values(), table.fences)
    if lost or journal.damaged:
        log("recovered", lost=[str(run.key.run) for run in lost], damaged=journal.damaged)
    return table


def _let_go_of_streams() -> None:
    """Whoever started us may wait for the end of a pipe that we would hold open for ever."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for stream in (0, 1):
        os.dup2(null, stream)
    os.close(null)


def _raise_open_files() -> int:
    """A live run takes four descriptors. Returns the former soft limit, which tasks start with."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft


def _options(arguments: list[str]) -> tuple[str, str, int] | None:
    values = {"--cgroup": "auto", "--t-kill-ms": str(T_KILL_MS)}
    if len(arguments) % 2 != 1 or arguments[0].startswith("-"):
        return None
    for name, value in zip(arguments[1::2], arguments[2::2], strict=True):
        if name not in values:
            return None
        values[name] = value
    if values["--cgroup"] not in ("auto", "none") or not values["--t-kill-ms"].isdigit():
        return None
    return os.path.abspath(arguments[0]), values["--cgroup"], int(values["--t-kill-ms"])


def _lock(path: str) -> int | None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd
