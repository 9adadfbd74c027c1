"""Starting a process of a task: fork, put it in its place, execute.

The child enters its cgroup first, so that nothing it does is unaccounted, drops to its user, asks
to be killed with the keeper (after the change of user, which would clear that), and reports the
step and errno of a failure through a pipe that closes by itself when the program is executed.
Fork without threads is safe; nothing here waits.
"""

import errno
import os
import resource
import signal
from typing import Final, NamedTuple, NoReturn

from edge_agent.keeper import mounts
from edge_agent.keeper.machine import linux
from edge_agent.keeper.machine.procfs import MARK_VARIABLE
from edge_agent.keeper.report import StartFault
from edge_agent.keeper.spec import StartSpec

NOTICE_VARIABLE: Final = "INTERTIE_NOTICE_FILE"
NOTICE_FILE: Final = "notice.json"
_OOM_SCORE: Final = b"500"
"""The kernel, out of memory, takes a task before it takes the keeper."""

HANDLED: Final = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)
IGNORED: Final = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP)
"""What the keeper does not leave at its default: by its own choice, the first two by Python's."""


class Plan(NamedTuple):
    """A spec with what the machine adds: where to enter, and limits that no cgroup holds."""

    spec: StartSpec
    mark: str
    join: tuple[str, ...]
    """cgroup.procs files that the child writes itself into."""
    address_space: int | None
    """RLIMIT_AS where there is no memory controller."""
    processes: int | None
    """RLIMIT_NPROC where there is no pids controller and the user is not root."""
    open_files: int
    """Soft RLIMIT_NOFILE of a task that names none; the keeper's own is raised."""


class Child(NamedTuple):
    """A forked process and our ends of its pipes, all non-blocking."""

    pid: int
    fault_fd: int
    stdout_fd: int
    stderr_fd: int


def fork(plan: Plan) -> Child:
    """Start. Raises OSError when there cannot be a process; later faults come through the pipe."""
    opened: list[int] = []
    try:
        pipes = []
        for _ in range(3):
            pipes.append(os.pipe2(os.O_CLOEXEC))
            opened += pipes[-1]
        keeper = os.getpid()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
        try:
            pid = os.fork()
            if pid == 0:
                _become(plan, keeper, pipes[0][1], pipes[1][1], pipes[2][1])
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    except OSError:
        for fd in opened:
            os.close(fd)
        raise
    for reader, writer in pipes:
        os.close(writer)
        os.set_blocking(reader, False)
    return Child(pid, pipes[0][0], pipes[1][0], pipes[2][0])


def read_fault(fault_fd: int) -> StartFault | bool:
    """What the fault pipe says: a fault, True when the program runs, False when not yet known."""
    try:
        data = os.read(fault_fd, 4096)
    except BlockingIOError:
        return False
    if not data:
        return True
    stage, number, message = data.decode("utf-8", "replace").split(":", 2)
    return fault_of(stage, OSError(int(number), message))


def fault_of(stage: str, error: OSError) -> StartFault:
    """A start fault with the errno's name."""
    name = errno.errorcode.get(error.errno or 0, "EIO")
    return StartFault(stage, name, error.strerror or str(error))


def _become(plan: Plan, keeper: int, fault: int, stdout: int, stderr: int) -> NoReturn:
    stage = ["setup"]
    try:
        _enter(plan, keeper, stdout, stderr, stage)
        stage[0] = "exec"
        os.execvpe(plan.spec.argv[0], plan.spec.argv, _environment(plan))  # noqa: S606 - no shell is the point
    except OSError as error:
        about = {"exec": f": {plan.spec.argv[0]}", "chdir": f": {plan.spec.cwd}"}
        text = f"{stage[0]}:{error.errno}:{error.strerror}{about.get(stage[0], '')}"
        os.write(fault, text.encode("utf-8", "backslashreplace")[:4096])
    except BaseException as error:  # noqa: BLE001 - a child must never return into the keeper's loop
        os.write(fault, f"{stage[0]}:{errno.EIO}:{error!r}".encode()[:4096])
    finally:
        os._exit(127)


def _enter(plan: Plan, keeper: int, stdout: int, stderr: int, stage: list[str]) -> None:
    spec = plan.spec
    for number in (*HANDLED, *IGNORED):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.setsid()
    stage[0] = "cgroup"
    for path in plan.join:
        _write(path, b"0")
    stage[0] = "mounts"
    mounts.enter(spec)
    stage[0] = "limits"
    _write("/proc/self/oom_score_adj", _OOM_SCORE)
    _set_limits(plan)
    stage[0] = "user"
    _change_user(spec)
    linux.die_with_parent(signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(127)
    linux.set_no_new_privs()
    stage[0] = "chdir"
    os.umask(0o077)
    os.chdir(spec.cwd)
    stage[0] = "streams"
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (stdout, 1), (stderr, 2)):
        os.dup2(source, target)
    # Everything else of the keeper is close-on-exec: Python opens all descriptors so (PEP 446).


def _write(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def _set_limits(plan: Plan) -> None:
    limits = plan.spec.limits
    wanted = (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.disk_bytes),
        (resource.RLIMIT_AS, plan.address_space),
        (resource.RLIMIT_NPROC, plan.processes),
    )
    for which, value in wanted:
        if value is None:
            continue
        hard = resource.getrlimit(which)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (bound, bound))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = hard if limits.nofile is None else min(limits.nofile, hard)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (most if limits.nofile else min(plan.open_files, most), most)
    )


def _change_user(spec: StartSpec) -> None:
    gid = spec.gid if spec.gid is not None else spec.uid
    if gid is not None and (gid, spec.uid) != (os.getegid(), os.geteuid()):
        if os.geteuid() == 0:
            os.setgroups([])
        os.setresgid(gid, gid, gid)
    if spec.uid is not None:
        os.setresuid(spec.uid, spec.uid, spec.uid)


def _environment(plan: Plan) -> dict[str, str]:
    environment = {**plan.spec.env, MARK_VARIABLE: plan.mark}
    if plan.spec.control_dir is not None:
        environment[NOTICE_VARIABLE] = os.path.join(plan.spec.control_dir, NOTICE_FILE)
    return environment
