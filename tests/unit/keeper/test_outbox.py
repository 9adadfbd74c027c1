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
        self.record = directory / "runs" / "mark.json"


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def test_effects_come_out_in_order_once_the_record_is_on_disk(box: Box) -> None:
    effects: list[Release] = [Reply(1, {}), Spawn(KEY), Broadcast("ended", {}), Reply(2, {})]
    box.outbox.save(Save(KEY, durable=True))
    for effect in effects:
        box.outbox.put(effect)
    assert box.outbox.due
    assert box.outbox.commit(RUNS) == (effects, None)
    assert box.record.exists()
    assert not box.outbox.due


def test_a_lazy_change_waits_for_company_but_not_for_ever(box: Box) -> None:
    box.outbox.save(Save(KEY, durable=False))
    assert not box.outbox.due
    box.now = LAZY_NS
    assert box.outbox.next_due() == LAZY_NS
    assert box.outbox.due
    box.outbox.commit(RUNS)
    assert box.record.exists()
    assert box.outbox.next_due() is None


def test_a_durable_change_takes_the_lazy_one_with_it(box: Box) -> None:
    box.outbox.save(Save(KEY, durable=False))
    box.outbox.save(Save(KEY, durable=True))
    box.outbox.commit(RUNS)
    assert box.outbox.next_due() is None


def test_a_run_that_is_gone_is_not_written_again(box: Box) -> None:
    box.outbox.save(Save(KEY, durable=True))
    box.outbox.drop(Drop(KEY, "mark"))
    assert box.outbox.commit({}) == ([], None)
    assert not box.record.exists()
    assert box.journal.load_fences() == {"projects/p/tasks/t": KEY.token}


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
        (refused, spawn), error = box.outbox.commit(RUNS)
    assert isinstance(refused, Refuse)
    assert refused.fault.reason == protocol.STORE_UNAVAILABLE
    assert spawn == Spawn(KEY)
    assert error is not None
    assert box.outbox.behind
    assert not box.outbox.due
    box.now = RETRY_NS
    assert box.outbox.due
    assert box.outbox.commit(RUNS) == ([note], None)
    assert box.record.exists()
    assert not box.outbox.behind
