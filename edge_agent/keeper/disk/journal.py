"""The keeper's state on disk: one small file per run, and the fences of tasks that are gone.

    DIR/schema.json          {"schema": 1, "keeper": "<random id>"}
    DIR/runs/<mark>.json     one run, replaced whole: write temp, fsync, rename, fsync directory
    DIR/fences.log           one line per forgotten run, appended; compacted at start

A crash at any point leaves the old or the new state of each run, never a mixture; a torn last line
of the fence log is ignored because its run's file is removed only after the line is durable.
Must not decide anything: what a record means is the table's business.
"""

import json
import os
from collections.abc import Iterable
from typing import Any, Final

from edge_agent.keeper.domain.record import Run
from edge_agent.keeper.spec import Token, task_of

SCHEMA: Final = 1


class SchemaError(Exception):
    """The directory was written by a newer version: upgrade this one, or use another directory."""


class Journal:
    """Reads once at start, then only writes."""

    def __init__(self, directory: str, fresh_id: str) -> None:
        self._directory = directory
        self._runs = os.path.join(directory, "runs")
        self._fences = os.path.join(directory, "fences.log")
        os.makedirs(self._runs, mode=0o700, exist_ok=True)
        self.keeper_id = self._open_schema(fresh_id)
        """Names this directory's keeper for ever: its cgroups are found by it."""
        self._runs_fd = os.open(self._runs, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.damaged: list[str] = []
        """Records that could not be read; set aside, never deleted."""

    def close(self) -> None:
        """Close the directory."""
        os.close(self._runs_fd)

    def _open_schema(self, fresh_id: str) -> str:
        path = os.path.join(self._directory, "schema.json")
        try:
            body = _read_json(path)
            found, keeper_id = body["schema"], body["keeper"]
        except FileNotFoundError:
            _replace(path, {"schema": SCHEMA, "keeper": fresh_id})
            _sync_directory(self._directory)
            return fresh_id
        except (ValueError, KeyError, TypeError) as error:
            raise SchemaError(f"{path} is damaged ({error}): restore it or start afresh") from None
        if found != SCHEMA or not isinstance(keeper_id, str):
            raise SchemaError(
                f"{self._directory} has schema {found}, this keeper reads {SCHEMA}: "
                "use the version that wrote it"
            )
        return keeper_id

    def load_runs(self) -> list[Run]:
        """Every run on disk. Unfinished writes are removed, unreadable records set aside."""
        runs = []
        for name in sorted(os.listdir(self._runs)):
            path = os.path.join(self._runs, name)
            if name.endswith(".tmp"):
                os.unlink(path)
            elif name.endswith(".json"):
                try:
                    runs.append(Run.from_body(_read_json(path)))
                except (ValueError, KeyError, TypeError):
                    os.rename(path, f"{path}.damaged")
                    self.damaged.append(name)
        return runs

    def load_fences(self) -> dict[str, Token]:
        """The highest token per forgotten task, oldest first."""
        fences: dict[str, Token] = {}
        try:
            with open(self._fences, "rb") as file:
                for line in file:
                    try:
                        task, *token = json.loads(line)
                        seen = Token(*token)
                    except (ValueError, TypeError):
                        continue
                    fences[task] = max(seen, fences.pop(task, seen))
        except FileNotFoundError:
            pass
        return fences

    def compact_fences(self, fences: dict[str, Token]) -> None:
        """Replace the fence log by these."""
        data = b"".join(_fence_line(task, token) for task, token in fences.items())
        _replace_bytes(self._fences, data)
        _sync_directory(self._directory)

    def save(self, run: Run) -> None:
        """Put one run on disk; it survives a power cut once `sync` was called."""
        _replace(os.path.join(self._runs, f"{run.mark}.json"), run.to_body())

    def sync(self) -> None:
        """Make renames and removals durable, once for many."""
        os.fsync(self._runs_fd)

    def forget(self, runs: Iterable[tuple[str, Token, str]]) -> None:
        """Keep the fences of (run, token, mark), then remove their records."""
        gone = list(runs)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        fd = os.open(self._fences, flags, 0o600)
        try:
            lines = [_fence_line(task_of(run), token) for run, token, _ in gone]
            _write_all(fd, b"\n" + b"".join(lines))  # the newline ends a line that was torn before
            os.fdatasync(fd)
        finally:
            os.close(fd)
        for _, _, mark in gone:
            try:
                os.unlink(os.path.join(self._runs, f"{mark}.json"))
            except FileNotFoundError:
                continue


def _fence_line(task: str, token: Token) -> bytes:
    return json.dumps([task, *token]).encode("ascii") + b"\n"


def _read_json(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        body = json.loads(file.read())
    if not isinstance(body, dict):
        raise TypeError("not an object")
    return body


def _replace(path: str, body: dict[str, Any]) -> None:
    _replace_bytes(path, json.dumps(body, separators=(",", ":")).encode("ascii"))


def _replace_bytes(path: str, data: bytes) -> None:
    """Old or new content after a crash, never a mixture; durable once the directory is synced."""
    temporary = f"{path}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600)
    try:
        _write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, path)


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
