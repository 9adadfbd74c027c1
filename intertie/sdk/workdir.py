"""Which files of a folder become the task's work directory, with their digests.

`.intertieignore` has the syntax of `.gitignore`. Links are followed inside the folder and refused
when they leave it, so that nothing is uploaded that a person did not put there. Reads files,
uploads nothing.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

from intertie.errors import IntertieError, Reason, error, invalid
from intertie.model.spec import FileRef
from intertie.model.texts import relative_path_fault
from intertie.model.validate.limits import MAX_FILES, MAX_FILES_BYTES

IGNORE_FILE = ".intertieignore"
ALWAYS_IGNORED = (".git/", "__pycache__/")
"""Left out unless `.intertieignore` takes them back with `!`."""

_FIELD = "run.workdir"
_CHUNK = 1 << 20
_REMEDY = f"Exclude it in {IGNORE_FILE}."
_KINDS = {stat.S_IFSOCK: "socket", stat.S_IFIFO: "pipe", stat.S_IFBLK: "device"}


def pack_workdir(directory: Path, ignore: Sequence[str] = ()) -> list[tuple[FileRef, Path]]:
    """List the files of a folder in the order of their paths, with digests.

    Args:
        directory: the folder.
        ignore: patterns beside those of the folder's `.intertieignore`.

    Raises:
        CallerError: a link that leaves the folder, a thing that is no file, too many or too much.
    """
    if not directory.is_dir():
        raise invalid(_FIELD, f"{directory} is not a folder")
    root = directory.resolve()
    spec = GitIgnoreSpec.from_lines([*ALWAYS_IGNORED, *_patterns(root), *ignore])
    found: list[tuple[str, Path]] = []
    total = 0
    for path, file in _walk(root, root, "", spec, frozenset({root})):
        found.append((path, file))
        total += file.stat().st_size
        if len(found) > MAX_FILES:
            raise _too_large(f"has more than {MAX_FILES} files")
        if total > MAX_FILES_BYTES:
            raise _too_large(f"has more than {MAX_FILES_BYTES >> 30} GiB")
    return [(file_ref(path, file), file) for path, file in sorted(found)]


def _patterns(root: Path) -> list[str]:
    try:
        return (root / IGNORE_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as problem:
        raise invalid(_FIELD, f"{IGNORE_FILE} cannot be read: {problem}") from None


def _walk(
    root: Path, folder: Path, prefix: str, spec: GitIgnoreSpec, above: frozenset[Path]
) -> Iterator[tuple[str, Path]]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as problem:
        raise _refused(prefix, f"cannot be read: {problem.strerror}") from None
    for entry in entries:
        path = prefix + entry.name
        is_folder = entry.is_dir()
        if spec.match_file(f"{path}/" if is_folder else path):
            continue
        fault = relative_path_fault(path)
        if fault:
            raise invalid(_FIELD, fault, remedy=_REMEDY)
        target = _inside(root, entry, path)
        if is_folder:
            if target in above:
                raise _refused(path, "is a link to a folder that it lies in")
            yield from _walk(root, entry, f"{path}/", spec, above | {target})
        else:
            _check_kind(entry, path)
            yield path, entry


def _inside(root: Path, entry: Path, path: str) -> Path:
    """Where an entry really is; refused if that is outside of the folder."""
    try:
        target = entry.resolve(strict=True)
    except (OSError, RuntimeError):
        raise _refused(path, "is a link to nothing") from None
    if not target.is_relative_to(root):
        raise _refused(path, f"is a link out of the folder, to {target}")
    return target


def _check_kind(entry: Path, path: str) -> None:
    mode = entry.stat().st_mode
    if not stat.S_ISREG(mode):
        raise _refused(path, f"is a {_KINDS.get(stat.S_IFMT(mode), 'device')}, not a file")


def file_ref(path: str, file: Path) -> FileRef:
    """The digest and size of one file; a file that its owner may run stays one."""
    hasher = hashlib.sha256()
    size = 0
    try:
        with file.open("rb") as stream:
            executable = os.fstat(stream.fileno()).st_mode & stat.S_IXUSR
            while chunk := stream.read(_CHUNK):
                hasher.update(chunk)
                size += len(chunk)
    except OSError as problem:
        raise _refused(path, f"cannot be read: {problem.strerror}") from None
    mode = 0o755 if executable else 0o644
    return FileRef(path=path, sha256=hasher.hexdigest(), size=size, mode=mode)


def _refused(path: str, why: str) -> IntertieError:
    return invalid(_FIELD, f"{path or '.'} {why}", remedy=_REMEDY)


def _too_large(why: str) -> IntertieError:
    return error(Reason.TOO_LARGE, f"{_FIELD} {why}.", remedy=f"Exclude some in {IGNORE_FILE}.")
