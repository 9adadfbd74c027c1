"""What the core decides about runs: orders, phases, ends."""

from dataclasses import replace
from typing import Any

import pytest

from edge_agent.domain.events import (
    Abandon,
    Collect,
    Collected,
    Forget,
    Halt,
    HaltMissed,
    KeeperDown,
    Launch,
    LaunchRefused,
    ProcessEnd,
    ProcessSeen,
    RunKey,
    SavedCheckpoint,
    Stage,
    Staged,
    StagingFailed,
)
from edge_agent.domain.run import NEXT, PUBLIC
from intertie.drive.effects import Tick
from intertie.model.agentlink import AckRun, CheckpointOffer, UsageSample
from intertie.model.states import RUN_TRANSITIONS, Outcome, RunState
from intertie.model.task import StoredFile

FILE = StoredFile(path="a", sha256="ab" * 32, size=3)


def key_of(order: Any) -> RunKey:
    return RunKey(order.task, order.token)


def test_the_phases_of_a_node_are_moves_that_a_region_knows() -> None:
    for before, followers in NEXT.items():
        for after in followers:
            a, b = PUBLIC[before], PUBLIC[after]
            assert a is b or b in RUN_TRANSITIONS[a], f"{before} -> {after}"


def test_a_run_without_files_is_launched_at_once_under_its_own_row(desk: Any) -> None:
    order = desk.start()
    launch = desk.outward[-1]
    assert launch == Launch(key_of(order), order, 0, None)
    assert desk.rows["order", str(key_of(order))] == order
    assert [u.state for u in desk.updates(order)] == [RunState.STARTING]


def test_a_repeated_order_starts_nothing_twice(desk: Any) -> None:
    order = desk.start()
    desk.start()
    assert desk.outward == [Launch(key_of(order), order, 0, None)]
    assert len([u for u in desk.updates(order) if u.state is RunState.STARTING]) == 2


def test_files_are_staged_before_a_run_is_launched(desk: Any) -> None:
    order = desk.start(files=(FILE,), modes=(0o644,))
    assert desk.outward == [Stage(key_of(order), order, 0)]
    desk.tell(Staged(key=key_of(order), resumed_step=9))
    assert isinstance(desk.outward[-1], Launch)
    process = desk.runs(order)
    desk.exits(process)
    assert desk.end(order).resumed_step == 9


def test_a_failed_staging_ends_the_run_with_closed_books(desk: Any) -> None:
    order = desk.start(files=(FILE,), modes=(0o644,))
    desk.tell(StagingFailed(key=key_of(order), message="no such blob"))
    assert desk.end(order).evidence == {"staging": "no such blob"}
    assert [(s.boot_ms, s.final) for s in desk.samples(order)] == [(0, True)]


def test_a_stop_while_staging_abandons_it_and_ends_the_run(desk: Any) -> None:
    order = desk.start(files=(FILE,), modes=(0o644,))
    assert Abandon(key_of(order)) in desk.stop(order)
    assert desk.end(order).evidence == {"stopped": "asked"}
    assert desk.tell(Staged(key=key_of(order), resumed_step=0)) == []


def test_a_stop_of_a_launched_run_goes_to_the_keeper(desk: Any) -> None:
    order = desk.start()
    desk.runs(order)
    halt = next(e for e in desk.stop(order, notice_ms=700) if isinstance(e, Halt))
    assert (halt.n, halt.notice_ms, halt.reason) == (1, 700, "asked")
    assert desk.updates(order)[-1].state is RunState.STOPPING


def test_a_stop_between_launch_and_start_is_not_lost(desk: Any) -> None:
    order = desk.start()
    desk.stop(order)
    desk.tell(LaunchRefused(key=key_of(order), retry=True))
    assert desk.end(order).evidence == {"stopped": "asked"}


def test_a_stop_that_finds_no_process_ends_the_run(desk: Any) -> None:
    order = desk.start()
    desk.stop(order)
    desk.tell(HaltMissed(key_of(order)))
    assert desk.end(order).evidence == {"stopped": "asked"}


def test_a_second_stop_hastens_the_first(desk: Any) -> None:
    order = desk.start()
    desk.runs(order)
    desk.stop(order, notice_ms=9_000)
    halts = [e for e in desk.stop(order, Outcome.SUPERSEDED, 0) if isinstance(e, Halt)]
    assert [halt.notice_ms for halt in halts] == [0]


def test_a_refused_launch_is_tried_again_only_where_that_helps(desk: Any) -> None:
    order = desk.start()
    desk.tell(LaunchRefused(key=key_of(order), retry=True))
    assert any(isinstance(e, Launch) for e in desk.tick(1.1))
    desk.tell(LaunchRefused(key=key_of(order), retry=False, evidence={"errno": "E2BIG"}))
    assert desk.end(order).evidence == {"errno": "E2BIG"}


def test_an_older_order_is_refused_while_a_newer_run_is_here(desk: Any) -> None:
    desk.start(sub=3)
    old = desk.start(sub=2)
    assert "superseded" in desk.end(old).evidence
    assert len([e for e in desk.outward if isinstance(e, Launch)]) == 1


def test_a_newer_order_stops_what_runs_under_the_older(desk: Any) -> None:
    old = desk.start(sub=1)
    process = desk.runs(old)
    new = desk.start(sub=2)
    halt = next(e for e in desk.outward if isinstance(e, Halt))
    assert (halt.key, halt.notice_ms) == (key_of(old), 0)
    desk.exits(process, exit_code=None, signal=9, evidence={"superseded": "1"})
    assert "superseded" in desk.end(old).evidence
    assert any(isinstance(e, Launch) and e.key == key_of(new) for e in desk.outward)


def test_a_node_outside_of_the_bounds_refuses_with_the_rule(desk: Any) -> None:
    order = desk.start(not_within=("DE/DE-HE",))
    end = desk.end(order)
    assert end.outcome is Outcome.REJECTED
    assert "DE/DE-HE" in end.evidence["residency"]
    assert desk.outward == []


def test_without_a_site_of_its_own_a_node_is_where_its_region_is(bare_desk: Any) -> None:
    bare_desk.core.node = replace(bare_desk.core.node, site="")
    bare_desk.ready()
    assert bare_desk.end(bare_desk.start(within=("FR",))).outcome is Outcome.REJECTED


def test_a_full_node_refuses_and_a_forgotten_run_makes_room(bare_desk: Any) -> None:
    desk = type(bare_desk)(slots=1).ready()
    first = desk.start()
    other = desk.start(task=first.task[:-1] + "4", sub=9)
    assert "slots" in desk.end(other).evidence["staging"]
    desk.exits(desk.runs(first))
    desk.ack_all(first)
    third = desk.start(task=first.task[:-1] + "5", sub=8)
    assert any(isinstance(e, Launch) and e.key == key_of(third) for e in desk.outward)


def test_an_end_is_told_after_collecting_and_forgotten_after_the_answer(desk: Any) -> None:
    order = desk.start(outputs=("out.txt",))
    process = desk.runs(order)
    desk.clock.advance(2.5)
    desk.exits(process, log_bytes=10)
    assert desk.outward[-1] == Collect(key_of(order), order, 0, None)
    assert all(u.state is not RunState.ENDED for u in desk.updates(order))
    desk.tell(Collected(key=key_of(order), outputs=(FILE,), logs=()))
    end = desk.end(order)
    assert (end.boot_ms, end.outputs, dict(end.evidence)) == (2_500, (FILE,), {})
    desk.ack_all(order)
    assert desk.outward[-1] == Forget(key_of(order), 1)
    assert desk.rows == {}


def test_a_missing_output_is_the_fault_of_a_run_that_did_its_work(desk: Any) -> None:
    order = desk.start(outputs=("out.txt",))
    desk.exits(desk.runs(order))
    desk.tell(Collected(key=key_of(order), fault="not written"))
    assert desk.end(order).evidence == {"output": "not written"}


def test_a_run_that_left_nothing_ends_without_collecting(desk: Any) -> None:
    order = desk.start()
    desk.exits(desk.runs(order))
    assert desk.end(order).exit_code == 0
    assert not any(isinstance(e, Collect) for e in desk.outward)


def test_the_last_checkpoint_of_a_failed_run_goes_before_its_end(desk: Any) -> None:
    order = desk.start(checkpoint_interval_ms=60_000)
    process = desk.runs(order)
    desk.clock.advance(10)
    written_ns = desk.clock.now().boot_ns - 1_000_000_000
    desk.exits(process, exit_code=143, evidence={"stopped": "1"})
    assert desk.outward[-1].above_step == 0
    saved = SavedCheckpoint(step=7, manifest="cd" * 32, size=5, written_ns=written_ns)
    desk.tell(Collected(key=key_of(order), saved=saved))
    kinds = [type(m) for m in desk.said[-2:]]
    assert kinds[0] is CheckpointOffer
    assert desk.said[-2].written_boot_ms == 9_000
    assert desk.said[-1].state is RunState.ENDED


def test_a_successful_run_needs_no_last_checkpoint(desk: Any) -> None:
    order = desk.start(checkpoint_interval_ms=60_000)
    desk.exits(desk.runs(order))
    assert not any(isinstance(e, Collect) for e in desk.outward)


def test_nothing_is_told_of_a_run_that_the_region_does_not_answer_for_but_its_end(
    desk: Any,
) -> None:
    order = desk.order()
    desk.stop(order)
    assert "lost" in desk.end(order).evidence
    assert isinstance(desk.said[-2], UsageSample)
    assert desk.rows == {}


def test_an_early_acknowledgement_forgets_nothing(desk: Any) -> None:
    order = desk.start()
    desk.runs(order)
    desk.hear(AckRun(task=order.task, token=order.token))
    assert desk.rows
    assert not any(isinstance(e, Forget) for e in desk.outward)


def test_an_unkillable_run_is_told_while_it_stops(desk: Any) -> None:
    order = desk.start()
    desk.runs(order)
    desk.stop(order)
    desk.tell(ProcessSeen(desk.process(order, running=True, unkillable=True)))
    assert desk.updates(order)[-1].evidence == {"unkillable": "1"}


# --- the keeper --------------------------------------------------------------------------------


def test_nothing_is_launched_before_a_keeper_answers(bare_desk: Any) -> None:
    bare_desk.attach()
    order = bare_desk.start()
    assert bare_desk.outward == []
    bare_desk.keeper()
    assert bare_desk.outward == [Launch(key_of(order), order, 0, None)]


def test_a_restarted_link_adopts_what_its_keeper_runs(desk: Any) -> None:
    order = desk.start()
    process = desk.runs(order)
    desk.restart()
    desk.outward.clear()
    desk.keeper(process)
    desk.attach()
    assert desk.outward == []
    assert desk.updates(order)[-1].state is RunState.RUNNING
    desk.exits(process)
    assert desk.end(order).exit_code == 0


def test_a_restarted_link_stops_again_what_it_was_told_to_stop(desk: Any) -> None:
    order = desk.start()
    process = desk.runs(order)
    desk.stop(order)
    desk.restart()
    desk.outward.clear()
    desk.keeper(process)
    assert [type(e) for e in desk.outward] == [Halt]


def test_a_restarted_link_stages_and_collects_anew(desk: Any) -> None:
    staging = desk.start(files=(FILE,), modes=(0o644,))
    collecting = desk.start(task=staging.task[:-1] + "4", sub=2, outputs=("a",))
    desk.exits(desk.runs(collecting))
    desk.restart()
    desk.outward.clear()
    desk.keeper()
    assert {type(e) for e in desk.outward} == {Stage, Collect}


def test_a_run_that_a_new_keeper_does_not_know_is_lost(desk: Any) -> None:
    order = desk.start()
    desk.runs(order)
    desk.clock.advance(3)
    desk.tell(KeeperDown())
    desk.clock.advance(10)
    desk.keeper(incarnation="k2")
    desk.tell(Collected(key=key_of(order)))
    end = desk.end(order)
    assert "lost" in end.evidence
    assert end.boot_ms == 3_000


def test_a_lost_run_counts_until_the_keeper_was_last_seen(desk: Any) -> None:
    order = desk.start()
    process = desk.runs(order)
    desk.clock.advance(5)
    desk.tell(KeeperDown())
    desk.clock.advance(60)
    lost = ProcessEnd(at_ns=desk.clock.now().boot_ns, evidence={"lost": "1"}, lost=True)
    desk.keeper(desk.process(order, started_ns=process.started_ns, end=lost))
    desk.tell(Collected(key=key_of(order)))
    assert desk.end(order).boot_ms == 5_000


def test_after_a_reboot_a_run_counts_what_its_samples_told(desk: Any) -> None:
    order = desk.start()
    process = desk.runs(order)
    desk.clock.reboot(30)
    desk.restart()
    lost = ProcessEnd(at_ns=desk.clock.now().boot_ns, evidence={"lost": "1"}, lost=True)
    desk.keeper(desk.process(order, started_ns=process.started_ns, end=lost))
    desk.attach()
    desk.tell(Collected(key=key_of(order)))
    end = desk.end(order)
    assert end.boot_ms == 0
    assert "lost" in end.evidence


def test_a_run_that_only_the_keeper_knows_is_stopped_and_forgotten(desk: Any) -> None:
    order = desk.order()
    process = desk.process(order, running=True)
    desk.keeper(process)
    assert [type(effect) for effect in desk.outward] == [Halt]
    desk.exits(process)
    assert desk.outward[-1] == Forget(key_of(order), 1)


@pytest.mark.parametrize("times", [1, 3])
def test_an_end_that_is_seen_again_changes_nothing(desk: Any, times: int) -> None:
    order = desk.start()
    process = desk.runs(order)
    for _ in range(times):
        desk.exits(process)
    assert len([u for u in desk.updates(order) if u.state is RunState.ENDED]) == 1


def test_an_unanswered_end_is_told_again_with_its_samples(desk: Any) -> None:
    order = desk.start()
    desk.exits(desk.runs(order))
    again = desk.tick(3.1)
    assert [type(m).__name__ for m in again] == ["UsageSample", "AgentRunUpdate"]
    desk.ack_all(order)
    assert desk.core.deadline is None or not any(isinstance(m, UsageSample) for m in desk.tick(10))


def test_a_tick_without_anything_due_says_nothing(desk: Any) -> None:
    assert desk.tell(Tick()) == []
