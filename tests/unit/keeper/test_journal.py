"""The keeper's state on disk survives a crash at any system call."""

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edge_agent.keeper.disk.journal import Journal, SchemaError
from edge_agent.keeper.domain.events import Admission, Key
from edge_agent.keeper.domain.record import Run
from edge_agent.keeper.report import BY_SELF, ENDED, RUNNING, Ended
from edge_agent.keeper.spec import Limits, Token


class CrashError(Exception):
    """The process died here."""


def run_of(n: int, state: str = RUNNING) -> Run:
    key = Key(f"projects/p/tasks/t{n}/runs/1", Token(1, n, 1))
    ended = Ended(by=BY_SELF, boot_ns=5, code=3) if state == ENDED else None
    admission = Admission(key, f"mark{n}", 10, Limits(pids=3), 20, None)
    return Run(admission, accepted_at=1, state=state, pid=7, pid_ticks=8, ended=ended)


def crash_after(monkeypatch: pytest.MonkeyPatch, calls: int) -> Callable[[], int]:
    """Every file system call that changes something counts; the one after `calls` never happens."""
    done = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal done
            if done >= calls:
                raise CrashError
            done += 1
            return real(*args, **kwargs)

        return call

    for name in ("write", "fsync", "fdatasync", "rename", "unlink"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    return lambda: done


def test_what_was_saved_is_loaded_again(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "id1")
    for run in (run_of(1), run_of(2, ENDED)):
        journal.save(run)
    journal.sync()
    journal.close()
    again = Journal(str(tmp_path), "id2")
    loaded = again.load_runs()
    assert [run.to_body() for run in loaded] == [run_of(1).to_body(), run_of(2, ENDED).to_body()]
    assert again.keeper_id == "id1"
    again.close()


@pytest.mark.parametrize("calls", range(4))
def test_a_crash_while_saving_leaves_the_old_or_the_new_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    journal = Journal(str(tmp_path), "id")
    journal.save(run_of(1))
    with monkeypatch.context() as patch:
        done = crash_after(patch, calls)
        try:
            journal.save(run_of(1, ENDED))
            journal.sync()
        except CrashError:
            pass
        else:
            assert done() == 4, "write, fsync, rename, fsync of the directory"
    journal.close()
    again = Journal(str(tmp_path), "id")
    (loaded,) = again.load_runs()
    assert loaded.state in (RUNNING, ENDED)
    assert loaded.state == (ENDED if calls >= 3 else RUNNING)
    assert not list(tmp_path.rglob("*.tmp"))
    again.close()


@pytest.mark.parametrize("calls", range(4))
def test_a_crash_while_forgetting_never_loses_the_fence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    journal = Journal(str(tmp_path), "id")
    run = run_of(1, ENDED)
    journal.save(run)
    with monkeypatch.context() as patch:
        crash_after(patch, calls)
        with contextlib.suppress(CrashError):
            journal.forget([(*run.key, run.mark)])
    journal.close()
    again = Journal(str(tmp_path), "id")
    fence = again.load_fences().get("projects/p/tasks/t1")
    assert again.load_runs() or fence == Token(1, 1, 1)
    again.close()


def test_a_torn_line_of_the_fence_log_costs_nothing_that_was_promised(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "id")
    journal.forget([("projects/p/tasks/a/runs/1", Token(1, 1, 1), "a")])
    with (tmp_path / "fences.log").open("ab") as file:
        file.write(b'["projects/p/tasks/b", 1')
    journal.forget([("projects/p/tasks/c/runs/1", Token(1, 2, 1), "c")])
    assert journal.load_fences() == {
        "projects/p/tasks/a": Token(1, 1, 1),
        "projects/p/tasks/c": Token(1, 2, 1),
    }
    journal.close()


def test_compacted_fences_are_the_same_fences_in_the_same_order(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "id")
    fences = {f"projects/p/tasks/{name}": Token(1, 2, 3) for name in "zay"}
    journal.compact_fences(fences)
    assert list(journal.load_fences().items()) == list(fences.items())
    journal.close()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b'{"run": 5}', b'{"state": "DANCING"}', b"\xff"]
)
def test_a_record_that_cannot_be_read_is_set_aside_and_the_rest_is_used(
    tmp_path: Path, content: bytes
) -> None:
    journal = Journal(str(tmp_path), "id")
    journal.save(run_of(1))
    (tmp_path / "runs" / "bad.json").write_bytes(content)
    assert [run.mark for run in journal.load_runs()] == ["mark1"]
    assert journal.damaged == ["bad.json"]
    assert (tmp_path / "runs" / "bad.json.damaged").exists()
    journal.close()


@pytest.mark.parametrize("schema", [{"schema": 2, "keeper": "x"}, {"schema": 0, "keeper": "x"}])
def test_another_schema_is_refused_by_name(tmp_path: Path, schema: dict[str, Any]) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    with pytest.raises(SchemaError, match=f"has schema {schema['schema']}, this keeper reads 1"):
        Journal(str(tmp_path), "id")


def test_a_damaged_schema_is_refused_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text("{")
    with pytest.raises(SchemaError, match="damaged"):
        Journal(str(tmp_path), "id")
    assert (tmp_path / "schema.json").read_text() == "{"


def test_environment_and_arguments_never_reach_the_disk(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "id")
    journal.save(run_of(1))
    body = json.loads((tmp_path / "runs" / "mark1.json").read_text())
    assert not {"env", "argv"} & set(body)
    journal.close()
