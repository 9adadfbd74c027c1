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

    for name in ("write", "fsync", "fdatasync", "rename"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    return lambda: done


def test_what_was_saved_is_loaded_again(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "id1")
    for run in (run_of(1), run_of(2, ENDED)):
        journal.save(run)
    journal.write(durable=True)
    journal.close()
    again = Journal(str(tmp_path), "id2")
    loaded = again.load().runs
    assert [run.to_body() for run in loaded] == [run_of(1).to_body(), run_of(2, ENDED).to_body()]
    assert again.keeper_id == "id1"
    again.close()


@pytest.mark.parametrize("calls", range(3))
def test_a_crash_while_saving_leaves_the_old_or_the_new_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    journal = Journal(str(tmp_path), "id")
    journal.save(run_of(1))
    journal.write(durable=True)
    with monkeypatch.context() as patch:
        done = crash_after(patch, calls)
        try:
            journal.save(run_of(1, ENDED))
            journal.write(durable=True)
        except CrashError:
            pass
        else:
            assert done() == 2, "one write, one sync, however many records"
    journal.close()
    again = Journal(str(tmp_path), "id")
    (loaded,) = again.load().runs
    assert loaded.state == (ENDED if calls >= 1 else RUNNING)
    assert not again.damaged
    again.close()


@pytest.mark.parametrize("cut", [1, 5, 20, 200])
def test_a_torn_line_costs_nothing_that_was_promised(tmp_path: Path, cut: int) -> None:
    journal = Journal(str(tmp_path), "id")
    journal.save(run_of(1))
    journal.write(durable=True)
    journal.save(run_of(1, ENDED))
    journal.write(durable=False)
    journal.close()
    log = tmp_path / "journal.log"
    log.write_bytes(log.read_bytes()[:-cut])
    again = Journal(str(tmp_path), "id")
    kept = again.load()
    assert [run.state for run in kept.runs] == [RUNNING]
    assert not again.damaged
    again.rewrite(kept.runs, kept.fences)
    again.save(run_of(2))
    again.write(durable=True)
    assert [run.mark for run in again.load().runs] == ["mark1", "mark2"]
    again.close()


@pytest.mark.parametrize("calls", range(5))
def test_a_crash_while_rewriting_leaves_the_old_log_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    journal = Journal(str(tmp_path), "id")
    journal.save(run_of(1, ENDED))
    journal.write(durable=True)
    fences = {"projects/p/tasks/x": Token(1, 2, 3)}
    with monkeypatch.context() as patch:
        crash_after(patch, calls)
        with contextlib.suppress(CrashError):
            journal.rewrite([run_of(1, ENDED)], fences)
    journal.close()
    again = Journal(str(tmp_path), "id")
    kept = again.load()
    assert [run.mark for run in kept.runs] == ["mark1"]
    assert kept.fences == (fences if calls >= 3 else {})
    assert not again.damaged
    again.close()


def test_a_write_that_fails_midway_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(str(tmp_path), "id")
    journal.save(run_of(1))
    journal.write(durable=True)
    real = os.write

    def half(fd: int, data: memoryview) -> int:
        if len(data) < 100:
            raise OSError(28, "No space")
        return real(fd, data[: len(data) - 50])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        journal.save(run_of(2))
        with pytest.raises(OSError, match="No space"):
            journal.write(durable=True)
    journal.save(run_of(3))
    journal.write(durable=True)
    assert [run.mark for run in journal.load().runs] == ["mark1", "mark3"]
    assert not journal.damaged
    journal.close()


def test_a_forgotten_run_leaves_its_fence_and_fences_only_rise(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "id")
    for n, sub in ((3, 1), (2, 9)):
        run = run_of(n, ENDED)
        journal.save(run)
        journal.forget("projects/p/tasks/t/runs/1", Token(1, n, sub), run.mark)
    journal.write(durable=False)
    kept = journal.load()
    assert kept.runs == []
    assert kept.fences == {"projects/p/tasks/t": Token(1, 3, 1)}
    journal.close()


def test_a_rewritten_log_has_the_same_fences_in_the_same_order(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "id")
    fences = {f"projects/p/tasks/{name}": Token(1, 2, 3) for name in "zay"}
    journal.rewrite([], fences)
    assert list(journal.load().fences.items()) == list(fences.items())
    journal.close()


@pytest.mark.parametrize(
    "content", [b"{", b'00000000 ["run", {}]', b"\xff", b"e13ca943 [5]", b"\0" * 40, b"xyz []"]
)
def test_a_record_that_cannot_be_read_is_set_aside_and_the_rest_is_used(
    tmp_path: Path, content: bytes
) -> None:
    journal = Journal(str(tmp_path), "id")
    journal.save(run_of(1))
    journal.write(durable=True)
    with (tmp_path / "journal.log").open("ab") as log:
        log.write(content + b"\n")
    journal.save(run_of(2))
    journal.write(durable=True)
    kept = journal.load()
    assert [run.mark for run in kept.runs] == ["mark1", "mark2"]
    assert journal.damaged == ["line 2"]
    journal.rewrite(kept.runs, kept.fences)
    assert content in (tmp_path / "journal.log.damaged.1").read_bytes()
    assert content + b"\n" not in (tmp_path / "journal.log").read_bytes().splitlines(keepends=True)
    journal.close()


@pytest.mark.parametrize("schema", [{"schema": 3, "keeper": "x"}, {"schema": 1, "keeper": "x"}])
def test_another_schema_is_refused_by_name(tmp_path: Path, schema: dict[str, Any]) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    with pytest.raises(SchemaError, match=f"has schema {schema['schema']}, this keeper reads 2"):
        Journal(str(tmp_path), "id")


def test_a_damaged_schema_is_refused_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text("{")
    with pytest.raises(SchemaError, match="damaged"):
        Journal(str(tmp_path), "id")
    assert (tmp_path / "schema.json").read_text() == "{"


def test_environment_and_arguments_never_reach_the_disk(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "id")
    journal.save(run_of(1))
    journal.write(durable=True)
    text = (tmp_path / "journal.log").read_text()
    assert '"mark1"' in text
    assert '"env"' not in text
    assert '"argv"' not in text
    journal.close()
