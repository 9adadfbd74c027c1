"""Writing and reading files that nobody else may read. Knows modes and renames, not X.509."""

import os
import stat
from pathlib import Path

from intertie.errors import IntertieError, Reason, error

PRIVATE = 0o600
MAX_FILE_BYTES = 1024 * 1024


def write_private(path: Path, data: bytes, *, replace: bool = True) -> None:
    """Write a file of mode 0600 at once: a reader sees the old bytes or the new, never half.

    Raises:
        IntertieError: ALREADY_EXISTS if the file is there and `replace` is False.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            _publish_new(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def make_private_directory(path: Path) -> None:
    """Create a directory of mode 0700, with its parents; an existing one is left as it is."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def read_private(path: Path) -> bytes:
    """Read a file that must be closed to group and others.

    Raises:
        IntertieError: CONFIG_INVALID naming the file and what to do.
    """
    data, mode = _read(path)
    if mode & 0o077:
        problem = f"has mode {stat.S_IMODE(mode):04o}, so others can read it"
        raise unusable(path, problem, f"Run chmod 600 {path}.")
    return data


def read_public(path: Path) -> bytes:
    """Read a file that holds no secret, with the same errors for a missing one."""
    return _read(path)[0]


def unusable(path: Path, problem: str, remedy: str) -> IntertieError:
    """CONFIG_INVALID for a file."""
    return error(Reason.CONFIG_INVALID, f"{path} {problem}.", remedy=remedy)


def _read(path: Path) -> tuple[bytes, int]:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError as problem:
        raise unusable(
            path, "does not exist", "Issue the identity (intertie ca issue) or join."
        ) from problem
    except OSError as problem:
        raise unusable(
            path, f"cannot be read: {problem.strerror}", "Check its owner and mode."
        ) from problem
    if len(data) > MAX_FILE_BYTES:
        raise unusable(path, f"has over {MAX_FILE_BYTES} bytes", "Put the right file there.")
    return data, mode


def _publish_new(temporary: Path, path: Path) -> None:
    # link() fails if the name exists, where rename() would replace a key that is in use.
    try:
        os.link(temporary, path)
    except FileExistsError as problem:
        raise error(
            Reason.ALREADY_EXISTS,
            f"{path} exists already.",
            remedy="Move it away first, if it is really to be replaced.",
        ) from problem
