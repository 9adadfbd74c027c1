"""What a link asks for: the start of a run, its limits and its token, read strictly from JSON.

Every value has a bound and every fault names its field. Must not touch the machine: whether a path
or a user exists is found out when the process is started.
"""

from typing import Final, NamedTuple

from edge_agent.keeper.protocol import INVALID_ARGUMENT, Body, ProtocolFault

MAX_ENV: Final = 4096
MAX_ARGV: Final = 16384
MAX_DIRS: Final = 16
MAX_HIDDEN: Final = 1024
MAX_MS: Final = 400 * 24 * 3600 * 1000
MAX_COUNT: Final = 1 << 62
NOTICE_SIGNALS: Final = ("SIGUSR1", "SIGUSR2", "SIGHUP", "SIGINT", "SIGCONT")


class Token(NamedTuple):
    """The right to act for a run: (epoch generation, epoch number, sub-epoch); later is greater."""

    generation: int
    n: int
    sub: int

    def __str__(self) -> str:
        return f"{self.generation}.{self.n}.{self.sub}"


class Limits(NamedTuple):
    """Bounds of one run; None is unbounded. `cpu_millis` are thousandths of a core."""

    memory_bytes: int | None = None
    cpu_millis: int | None = None
    pids: int | None = None
    disk_bytes: int | None = None
    nofile: int | None = None


class StartSpec(NamedTuple):
    """All that the keeper must know to run one process."""

    run: str
    """`projects/P/tasks/ID/runs/N`; the fence is kept per task."""
    token: Token
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    stdout: str
    """Base path of the log segments of this stream (`logs.py`); new for every token."""
    stderr: str
    log_bytes: int
    """Bound on disk, per stream."""
    uid: int | None = None
    gid: int | None = None
    limits: Limits = Limits()
    timeout_ms: int | None = None
    deadline_boot_ns: int | None = None
    """Only `move` tasks have one: at this boot-clock reading the run is told to stop, and it is
    killed after its grace, within half of T_kill."""
    grace_ms: int = 10_000
    """Between SIGTERM and SIGKILL when the run is stopped."""
    control_dir: str | None = None
    """Where `notice.json` is written; the task reads it by INTERTIE_NOTICE_FILE."""
    disk_dirs: tuple[str, ...] = ()
    """What counts against `limits.disk_bytes`; `cwd` if empty."""
    notice_signal: str | None = None
    """Sent to the task's first process when the notice is written, if the task asked for it."""
    tmp_dir: str | None = None
    """What the run sees as /tmp and /var/tmp; like the next two only for a keeper that says that
    it can (`protocol.OWN_MOUNTS`)."""
    shm_bytes: int | None = None
    """Size of a /dev/shm of its own."""
    hidden: tuple[str, ...] = ()
    """Device files that it sees as /dev/null."""

    def to_body(self) -> Body:
        """As the fields of a `start` request (link side); an older keeper knows no mounts."""
        mounts = ("tmp_dir", "shm_bytes", "hidden")
        return {
            **{k: v for k, v in self._asdict().items() if v or k not in mounts},
            "token": list(self.token),
            "argv": list(self.argv),
            "disk_dirs": list(self.disk_dirs),
            "limits": self.limits._asdict(),
        }


class StopOrder(NamedTuple):
    """Stop a run: notice now, SIGTERM after `notice_ms`, SIGKILL after `grace_ms` more."""

    run: str
    token: Token
    reason: str
    notice_ms: int = 0
    grace_ms: int | None = None


def task_of(run: str) -> str:
    """The task that a run belongs to: its name up to `/runs/`."""
    return run.rpartition("/runs/")[0]


def _fault(field: str, message: str) -> ProtocolFault:
    return ProtocolFault(INVALID_ARGUMENT, message, field)


def read_text(body: Body, field: str, *, most: int = 4096) -> str:
    """A non-empty string without NUL."""
    value = body.get(field)
    if not isinstance(value, str) or not value or len(value) > most or "\0" in value:
        raise _fault(field, f"give a string of 1 to {most} characters without NUL")
    return value


def read_optional_text(body: Body, field: str) -> str | None:
    """A string, or None when it is null or left out."""
    return None if body.get(field) is None else read_text(body, field)


def read_whole(body: Body, field: str, *, least: int = 0, most: int = MAX_COUNT) -> int:
    """A whole number within bounds; a bool is none."""
    value = body.get(field)
    if type(value) is not int or not least <= value <= most:
        raise _fault(field, f"give a whole number from {least} to {most}")
    return value


def read_optional_whole(
    body: Body, field: str, *, least: int = 0, most: int = MAX_COUNT
) -> int | None:
    """A whole number within bounds, or None when it is null or left out."""
    if body.get(field) is None:
        return None
    return read_whole(body, field, least=least, most=most)


def read_token(body: Body) -> Token:
    """The `token` field: three whole numbers."""
    value = body.get("token")
    if (
        not isinstance(value, list)
        or len(value) != 3
        or not all(type(part) is int and 0 <= part <= MAX_COUNT for part in value)
    ):
        raise _fault("token", "give [generation, n, sub], three whole numbers")
    return Token(*value)


def read_run(body: Body) -> str:
    """The `run` field: a task's name, `/runs/`, a number."""
    run = read_text(body, "run", most=512)
    task, _, number = run.rpartition("/runs/")
    if not task or not number.isascii() or not number.isdigit():
        raise _fault("run", "give a run's name: projects/P/tasks/ID/runs/N")
    return run


def _path(body: Body, field: str) -> str:
    value = read_text(body, field)
    if not value.startswith("/") or "/../" in f"{value}/":
        raise _fault(field, "give an absolute path without ..")
    return value


def _paths(body: Body, field: str, most: int = MAX_DIRS) -> tuple[str, ...]:
    value = body.get(field, [])
    if not isinstance(value, list) or len(value) > most:
        raise _fault(field, f"give a list of at most {most} paths")
    return tuple(_path({field: item}, field) for item in value)


def _argv(body: Body) -> tuple[str, ...]:
    value = body.get("argv")
    if (
        not isinstance(value, list)
        or not 1 <= len(value) <= MAX_ARGV
        or not all(isinstance(item, str) and "\0" not in item for item in value)
        or not value[0]
    ):
        raise _fault("argv", f"give 1 to {MAX_ARGV} strings without NUL, the first not empty")
    return tuple(value)


def _env(body: Body) -> dict[str, str]:
    value = body.get("env", {})
    if not isinstance(value, dict) or len(value) > MAX_ENV:
        raise _fault("env", f"give an object of at most {MAX_ENV} strings")
    for name, item in value.items():
        if not name or "=" in name or "\0" in name:
            raise _fault("env", "a name may not be empty nor contain = or NUL")
        if not isinstance(item, str) or "\0" in item:
            raise _fault(f"env[{name}]", "give a string without NUL")
    return value


def _limits(body: Body) -> Limits:
    value = body.get("limits") or {}
    if not isinstance(value, dict):
        raise _fault("limits", "give an object")
    unknown = sorted(set(value) - set(Limits._fields))
    if unknown:
        raise _fault(f"limits.{unknown[0]}", f"unknown; there are {', '.join(Limits._fields)}")
    try:
        return Limits(*(read_optional_whole(value, name, least=1) for name in Limits._fields))
    except ProtocolFault as fault:
        raise _fault(f"limits.{fault.field}", fault.message) from None


def read_start(body: Body) -> StartSpec:
    """The whole of a `start` request."""
    unknown = sorted(set(body) - set(StartSpec._fields) - {"id", "op"})
    if unknown:
        raise _fault(unknown[0], "unknown field of start")
    notice_signal = read_optional_text(body, "notice_signal")
    if notice_signal is not None and notice_signal not in NOTICE_SIGNALS:
        raise _fault("notice_signal", f"give one of {', '.join(NOTICE_SIGNALS)}")
    return StartSpec(
        run=read_run(body),
        token=read_token(body),
        argv=_argv(body),
        env=_env(body),
        cwd=_path(body, "cwd"),
        stdout=_path(body, "stdout"),
        stderr=_path(body, "stderr"),
        log_bytes=read_whole(body, "log_bytes", least=4096),
        uid=read_optional_whole(body, "uid", most=(1 << 32) - 2),
        gid=read_optional_whole(body, "gid", most=(1 << 32) - 2),
        limits=_limits(body),
        timeout_ms=read_optional_whole(body, "timeout_ms", least=1, most=MAX_MS),
        deadline_boot_ns=read_optional_whole(body, "deadline_boot_ns", least=1),
        grace_ms=read_whole({"grace_ms": 10_000, **body}, "grace_ms", most=MAX_MS),
        control_dir=_path(body, "control_dir") if body.get("control_dir") is not None else None,
        disk_dirs=_paths(body, "disk_dirs"),
        notice_signal=notice_signal,
        tmp_dir=_path(body, "tmp_dir") if body.get("tmp_dir") is not None else None,
        shm_bytes=read_optional_whole(body, "shm_bytes", least=1),
        hidden=_paths(body, "hidden", MAX_HIDDEN),
    )


def read_stop(body: Body) -> StopOrder:
    """The whole of a `stop` request."""
    return StopOrder(
        run=read_run(body),
        token=read_token(body),
        reason=read_text(body, "reason", most=200),
        notice_ms=read_whole({"notice_ms": 0, **body}, "notice_ms", most=MAX_MS),
        grace_ms=read_optional_whole(body, "grace_ms", most=MAX_MS),
    )
