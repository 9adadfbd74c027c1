"""Text that becomes an argument, a variable or a file name, and paths below a folder of a task.

No NUL bytes, valid Unicode; paths are relative, plain, and the same on every machine.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255

_PLAIN_PATH = re.compile(
    r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,60}(/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,60}){0,9}"
)
"""Nearly all paths: safe without a closer look."""


def text_fault(text: str) -> str:
    """What is wrong with a text; empty if nothing is."""
    if "\0" in text:
        return "must not have NUL bytes"
    if not text.isascii() and not _encodes(text):
        return "must be valid Unicode text (it has half of a surrogate pair)"
    return ""


def relative_path_fault(path: str) -> str:
    """What is wrong with a relative path; empty if nothing is."""
    if _PLAIN_PATH.fullmatch(path):
        return ""
    if not path:
        return "must not be empty"
    unreadable = text_fault(path)
    if unreadable:
        return unreadable
    if path.startswith("/"):
        return f"{path[:120]!r} must be relative"
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"{path[:60]!r}... is over {MAX_PATH_BYTES} bytes"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return f"{path[:120]!r} must not have empty parts, '.' or '..'"
    if any(len(part.encode()) > MAX_NAME_BYTES for part in parts):
        return f"{path[:60]!r}... has a part of over {MAX_NAME_BYTES} bytes"
    return ""


def clashes(paths: Iterable[str]) -> Sequence[tuple[int, str]]:
    """The index of each path that is given before, or lies below one that is given, and why."""
    listed = list(paths)
    every = set(listed)
    folders = {folder for path in listed if "/" in path for folder in _above(path)}
    if len(every) == len(listed) and every.isdisjoint(folders):
        return ()
    return tuple(_clashes(listed, every))


def _clashes(listed: Sequence[str], every: AbstractSet[str]) -> Iterator[tuple[int, str]]:
    seen: set[str] = set()
    for i, path in enumerate(listed):
        if path in seen:
            yield i, f"{path[:120]!r} is given twice"
        seen.add(path)
        for folder in _above(path):
            if folder in every:
                yield i, f"{path[:120]!r} lies below {folder[:120]!r}, which is a file"
                break


def _above(path: str) -> Iterator[str]:
    """The folders that a path lies in, the nearest first."""
    cut = path.rfind("/")
    while cut > 0:
        yield path[:cut]
        cut = path.rfind("/", 0, cut)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
