"""The keeper's state on disk: one append-only log of records, rewritten when it has grown.

    DIR/schema.json     {"schema": 2, "keeper": "<random id>"}
    DIR/journal.log     one record a line: its CRC-32 in hex, a space, a JSON array
                        ["run", {...}]  ["gone", mark, task, g, n, s]  ["fence", task, g, n, s]

A later record of a run replaces an earlier one. One write and one fdatasync serve all records of a
commit, and no file is made, renamed or removed for a run: on ext4 each of these costs more than
all else that the keeper does for it. A torn last line is what a crash leaves and costs nothing that
was told; any other line that does not match its sum is damage, and the log is kept aside.
Must not decide anything: what a record means is the table's business.
"""

import json
import os
from binascii import crc32
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from edge_agent.keeper.domain.record import Run
from edge_agent.keeper.spec import Token, task_of

SCHEMA: Final = 2
LOG_NAME: Final = "journal.log"
GROWTH_BYTES: Final = 4 << 20
"""How much may be appended before the log is rewritten: some 3,000 runs."""
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class SchemaError(Exception):
    """The directory was written by a newer version: upgrade this one, or use another directory."""


class Kept(NamedTuple):
    """What the log says."""

    runs: list[Run]
    fences: dict[str, Token]
    """The highest token per forgotten task, oldest first."""


class Journal:
    """Reads once at start, then only writes."""

    def __init__(self, directory: str, fresh_id: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, LOG_NAME)
        self.keeper_id = self._open_schema(fresh_id)
        """Names this directory's keeper for ever: its cgroups are found by it."""
        self._fd = os.open(self._path, _FLAGS, 0o600)
        self._size = os.fstat(self._fd).st_size
        self._rewrite_at = self._size + GROWTH_BYTES
        self._torn = False
        self._pending: list[bytes] = []
        self.damaged: list[str] = []
        """Lines that could not be read; the log that they are in is set aside, never deleted."""

    def close(self) -> None:
        """Close the log."""
        os.close(self._fd)

    def _open_schema(self, fresh_id: str) -> str:
        path = os.path.join(self._directory, "schema.json")
        try:
            body = _read_json(path)
            found, keeper_id = body["schema"], body["keeper"]
        except FileNotFoundError:
            body = {"schema": SCHEMA, "keeper": fresh_id}
            _replace(path, [json.dumps(body, separators=(",", ":")).encode("ascii")])
            return fresh_id
        except (ValueError, KeyError, TypeError) as error:
            raise SchemaError(f"{path} is damaged ({error}): restore it or start afresh") from None
        if found != SCHEMA or not isinstance(keeper_id, str):
            raise SchemaError(
                f"{self._directory} has schema {found}, this keeper reads {SCHEMA}: "
                "use the version that wrote it"
            )
        return keeper_id

    # -- reading ----------------------------------------------------------------------------------

    def load(self) -> Kept:
        """Every run and fence. Call `rewrite` next: it ends a torn line."""
        runs: dict[str, Run] = {}
        fences: dict[str, Token] = {}
        with open(self._path, "rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    _apply(_record(line), runs, fences)
                except (ValueError, KeyError, TypeError):
                    if line.endswith(b"\n") and line != b"\n":
                        self.damaged.append(f"line {number}")
        if self.damaged:
            self._set_aside()
        return Kept(list(runs.values()), fences)

    def _set_aside(self) -> None:
        number = 1
        while os.path.exists(f"{self._path}.damaged.{number}"):
            number += 1
        os.link(self._path, f"{self._path}.damaged.{number}")

    # -- writing ----------------------------------------------------------------------------------

    def save(self, run: Run) -> None:
        """Have one run written with the next `write`."""
        self._pending.append(_line("run", run.to_body()))

    def forget(self, run: str, token: Token, mark: str) -> None:
        """Have the record of a run replaced by its fence with the next `write`."""
        self._pending.append(_line("gone", mark, task_of(run), *token))

    def write(self, *, durable: bool) -> None:
        """Append what was saved; it survives a power cut if `durable`. On a fault nothing of it
        counts, and the caller saves again what is then true.
        """
        data = b"".join(self._pending)
        self._pending.clear()
        try:
            _write_all(self._fd, b"\n" + data if self._torn else data)
            if durable:
                os.fdatasync(self._fd)
        except OSError:
            self._undo()
            raise
        self._size += len(data) + self._torn
        self._torn = False

    def _undo(self) -> None:
        """After a failed sync nobody knows what is on disk: write everything anew when possible."""
        self._rewrite_at = 0
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            self._torn = True

    @property
    def bulky(self) -> bool:
        """Whether `rewrite` is due."""
        return self._size >= self._rewrite_at

    def rewrite(self, runs: Iterable[Run], fences: Mapping[str, Token]) -> None:
        """Replace the log by these, durably. On a fault the old one stays in use."""
        assert not self._pending
        self._rewrite_at = self._size + GROWTH_BYTES
        lines = [_line("fence", task, *token) for task, token in fences.items()]
        lines += (_line("run", run.to_body()) for run in runs)
        _replace(self._path, lines)
        fd = os.open(self._path, _FLAGS, 0o600)
        os.close(self._fd)
        self._fd = fd
        self._size = sum(map(len, lines))
        self._rewrite_at = self._size + GROWTH_BYTES
        self._torn = False


def _line(*record: Any) -> bytes:  # noqa: ANN401 - JSON
    data = json.dumps(record, separators=(",", ":")).encode("ascii")
    return b"%08x %b\n" % (crc32(data), data)


def _record(line: bytes) -> list[Any]:
    total, _, data = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or int(total, 16) != crc32(data):
        raise ValueError("torn or damaged")
    record = json.loads(data)
    if not isinstance(record, list):
        raise TypeError("not an array")
    return record


def _apply(record: list[Any], runs: dict[str, Run], fences: dict[str, Token]) -> None:
    kind, *values = record
    if kind == "run":
        run = Run.from_body(values[0])
        runs[run.mark] = run
        return
    if kind == "gone":
        runs.pop(values.pop(0), None)
    elif kind != "fence":
        raise ValueError(f"unknown record {kind!r}")
    task, *token = values
    seen = Token(*token)
    fences[task] = max(seen, fences.pop(task, seen))


def _read_json(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        body = json.loads(file.read())
    if not isinstance(body, dict):
        raise TypeError("not an object")
    return body


def _replace(path: str, lines: list[bytes]) -> None:
    """Old or new content after a crash, never a mixture."""
    temporary = f"{path}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _write_all(fd, b"".join(lines))
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, path)
    _sync_directory(os.path.dirname(path))


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
