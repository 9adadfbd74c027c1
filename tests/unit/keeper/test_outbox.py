"""Nothing is told before it is on disk; what fails there is called off, kept back, tried again."""

from pathlib import Path

import pytest

from edge_agent.keeper import protocol
from edge_agent.keeper.disk.journal import Journal
from edge_agent.keeper.disk.outbox import LAZY_NS, RETRY_NS, Broadcast, Outbox, Release
from edge_agent.keeper.domain.events import Admission, Drop, Key, Refuse, Reply, Save, Spawn
from edge_agent.keeper.domain.record import Run
from edge_agent.keeper.spec import Limits, Token

KEY = Key("projects/p/tasks/t/runs/1", Token(1, 1, 1))
RUNS = {KEY: Run(Admission(KEY, "mark", 1, Limits(), None, None), accepted_at=0)}


class Box:
    """An outbox over a real journal, with a clock that is set by hand."""

    def __init__(self, directory: Path) -> None:
        self.now = 0
        self.journal = Journal(str(directory), "id")
        self.outbox = Outbox(self.journal, lambda: self.now)
        self.log = directory / "journal.log"

    def commit(self, runs: dict[Key, Run]) -> tuple[list[Release], OSError | None]:
        return self.outbox.commit(runs, {})

    @property
    def written(self) -> bool:
        return b'"mark"' in self.log.read_bytes()


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def test_effects_come_out_in_order_once_the_record_is_on_disk(box: Box) -> None:
    effects: list[Release] = [Reply(1, {}), Spawn(KEY), Broadcast("ended", {}), Reply(2, {})]
    box.outbox.save(Save(KEY, durable=True))
    for effect in effects:
        box.outbox.put(effect)
    assert box.outbox.due
    assert box.commit(RUNS) == (effects, None)
    assert box.written
    assert not box.outbox.due


def test_a_lazy_change_waits_for_company_but_not_for_ever(box: Box) -> None:
    box.outbox.save(Save(KEY, durable=False))
    assert not box.outbox.due
    box.now = LAZY_NS
    assert box.outbox.next_due() == LAZY_NS
    assert box.outbox.due
    box.commit(RUNS)
    assert box.written
    assert box.outbox.next_due() is None


def test_a_durable_change_takes_the_lazy_one_with_it(box: Box) -> None:
    box.outbox.save(Save(KEY, durable=False))
    box.outbox.save(Save(KEY, durable=True))
    box.commit(RUNS)
    assert box.outbox.next_due() is None


def test_a_run_that_is_gone_is_not_written_again(box: Box) -> None:
    box.outbox.save(Save(KEY, durable=True))
    box.outbox.drop(Drop(KEY, "mark"))
    assert box.commit({}) == ([], None)
    kept = box.journal.load()
    assert kept.runs == []
    assert kept.fences == {"projects/p/tasks/t": KEY.token}


def test_a_failed_commit_refuses_replies_keeps_notes_back_and_tries_again(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = Broadcast("ended", {})
    box.outbox.save(Save(KEY, durable=True))
    waiting: list[Release] = [Reply(1, {}), Spawn(KEY), note]
    for effect in waiting:
        box.outbox.put(effect)
    with monkeypatch.context() as patch:
        patch.setattr("os.write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space")))
        (refused, spawn), error = box.commit(RUNS)
    assert isinstance(refused, Refuse)
    assert refused.fault.reason == protocol.STORE_UNAVAILABLE
    assert spawn == Spawn(KEY)
    assert error is not None
    assert box.outbox.behind
    assert not box.outbox.due
    box.now = RETRY_NS
    assert box.outbox.due
    assert box.commit(RUNS) == ([note], None)
    assert box.written
    assert not box.outbox.behind


def test_a_log_that_has_grown_is_rewritten_and_a_disk_without_room_puts_it_off(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edge_agent.keeper.disk.journal.GROWTH_BYTES", 2_000)
    box.journal.rewrite((), {})
    with monkeypatch.context() as patch:
        patch.setattr("os.rename", lambda *_: (_ for _ in ()).throw(OSError(28, "No space")))
        while not box.journal.bulky:
            box.outbox.save(Save(KEY, durable=True))
            assert box.commit(RUNS) == ([], None)
            if box.log.stat().st_size > 2_000:
                break
    assert box.log.stat().st_size > 2_000
    while box.log.stat().st_size > 1_000:
        box.outbox.save(Save(KEY, durable=True))
        assert box.commit(RUNS) == ([], None)
    assert [run.key for run in box.journal.load().runs] == [KEY]
    assert not box.journal.damaged


def test_after_a_failed_sync_all_is_written_anew(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.outbox.save(Save(KEY, durable=True))
    with monkeypatch.context() as patch:
        patch.setattr("os.fdatasync", lambda _: (_ for _ in ()).throw(OSError(5, "I/O error")))
        assert box.commit(RUNS)[1] is not None
    before = box.log.stat().st_ino
    box.now = RETRY_NS
    assert box.commit(RUNS) == ([], None)
    assert box.log.stat().st_ino != before
    assert [run.key for run in box.journal.load().runs] == [KEY]
