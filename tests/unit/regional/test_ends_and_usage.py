"""How runs end, what is metered of them, and what of their time is lost."""

from typing import Any

import pytest

from intertie.drive.effects import Fail, Reply
from intertie.errors import Reason
from intertie.metering import records
from intertie.model.agentlink import (
    AckRun,
    AckUsage,
    AgentRunUpdate,
    CheckpointVerdict,
    StartRun,
    StopRun,
)
from intertie.model.link import CancelRun, RunUpdate
from intertie.model.states import FailureClass, Outcome, RunState
from intertie.model.token import Epoch, Token
from regional.domain.events import Adjust, CreateNative, Evict, UsagePending

LONG_ENOUGH_MS = 10_000
"""No node is believed more time than has passed."""
NATIVE = "projects/eu/tasks/03-01890000-0000-7000-8000-00000000ffff"


@pytest.fixture
def running(linked: Any, ask: Any, spec: Any) -> tuple[Any, str, StartRun]:
    """(region, task, order) of a run that runs."""
    task, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.pass_ms(LONG_ENOUGH_MS)
    return linked, task, order


def _native(region: Any, spec: Any, ticket: int = 1) -> Any:
    event = CreateNative(
        ticket=ticket,
        task=NATIVE,
        spec=spec,
        principal="op-1",
        request_id="r1",
        request_digest="d",
    )
    return region.do(event)


def test_an_end_is_written_with_its_record_and_then_acknowledged(running: Any, ask: Any) -> None:
    region, task, order = running
    region.sample("n1", order, 1, final=True)
    out = region.ends("n1", order)
    assert ask.kinds(out) == ["RunUpdate", "AckRun"]
    assert any(isinstance(effect, UsagePending) for effect in out)
    (end,) = region.records("run_end")
    assert (end["outcome"], end["useful_ms"], end["complete"]) == ("SUCCEEDED", 1_000, True)
    assert end["task"] == task.rpartition("/")[2]


def test_an_end_told_twice_is_acknowledged_and_recorded_once(running: Any, ask: Any) -> None:
    region, _, order = running
    region.ends("n1", order)
    out = region.ends("n1", order, exit_code=3)
    assert [ack.token for ack in ask.sent(out, AckRun)] == [order.token]
    assert len(region.records("run_end")) == 1


def test_samples_are_metered_once_and_in_order(running: Any, ask: Any) -> None:
    region, _, order = running
    (ack,) = ask.sent(region.sample("n1", order, 1), AckUsage)
    assert ack.interval == 1
    before = region.records("usage")
    assert ask.sent(region.sample("n1", order, 1, ms=9_000), AckUsage)
    assert region.records("usage") == before
    assert ask.sent(region.sample("n1", order, 3), AckUsage) == []
    assert region.records("usage") == before
    assert ask.sent(region.sample("n1", order, 2), AckUsage)
    assert len(region.records("usage")) == 2 * len(before)


def test_meters_count_what_was_held_by_the_boot_clock(running: Any) -> None:
    region, _, order = running
    region.sample("n1", order, 1, ms=2_000)
    quantities = {r["meter"]: r["quantity"] for r in region.records("usage")}
    assert quantities == {
        "cpu.held_core_ms": 2_000,
        "mem.held_mib_ms": 512 * 2_000,
        "cpu.used_core_ms": 1_000,
        "mem.used_mib_ms": 2_000,
    }


def test_usage_without_its_last_sample_is_said_to_be_incomplete(running: Any) -> None:
    region, _, order = running
    region.sample("n1", order, 1)
    region.ends("n1", order, boot_ms=5_000)
    (end,) = region.records("run_end")
    assert end["complete"] is False
    assert end["useful_ms"] == 5_000


def test_a_failure_loses_what_is_after_the_last_committed_checkpoint(
    running: Any, ask: Any
) -> None:
    region, task, order = running
    out = region.checkpoint("n1", order, step=7, at_ms=3_000)
    (verdict,) = ask.sent(out, CheckpointVerdict)
    assert verdict.committed
    region.ends("n1", order, exit_code=1, boot_ms=10_000)
    run = region.run(task)
    assert (run.run_ms, run.lost_ms, run.reclaimed_ms) == (10_000, 7_000, 0)
    (end,) = region.records("run_end")
    assert (end["useful_ms"], end["lost_ms"], end["checkpoint"]) == (3_000, 7_000, "ab" * 32)


def test_an_eviction_loses_time_that_the_owner_reclaimed(running: Any) -> None:
    region, task, order = running
    region.checkpoint("n1", order, step=1, at_ms=4_000)
    event = Evict(ticket=5, task=task, reason="power", request_id="e", request_digest="d")
    region.do(event)
    region.ends("n1", order, exit_code=None, signal=15, boot_ms=6_000, evidence={"stopped": "x"})
    run = region.run(task)
    assert (run.outcome, run.cause) == (Outcome.EVICTED, "owner")
    assert (run.lost_ms, run.reclaimed_ms) == (2_000, 2_000)


def test_a_cancel_by_the_submitter_loses_nothing(running: Any) -> None:
    region, task, order = running
    region.said(CancelRun(task=task, epoch=Epoch(1, 1), reason="enough"))
    region.ends("n1", order, exit_code=None, signal=15, boot_ms=6_000, evidence={"stopped": "x"})
    run = region.run(task)
    assert (run.outcome, run.lost_ms) == (Outcome.CANCELLED, 0)


def test_a_run_that_succeeded_before_the_stop_reached_it_has_succeeded(running: Any) -> None:
    region, task, order = running
    region.said(CancelRun(task=task, epoch=Epoch(1, 1), reason="enough"))
    region.ends("n1", order)
    assert region.run(task).outcome is Outcome.SUCCEEDED


def test_time_of_a_placement_that_was_lost_counts_and_is_lost(linked: Any, ask: Any) -> None:
    task, out = linked.assign(ask.moving())
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.sample("n1", order, 1, ms=4_000)
    linked.checkpoint("n1", order, step=3, at_ms=1_500)
    out = linked.attach("n2")
    deadline = linked.ends(
        "n1", order, exit_code=None, signal=9, boot_ms=4_000, evidence={"deadline": "1"}
    )
    (again,) = ask.sent(deadline, StartRun)
    assert again.checkpoint.step == 3
    linked.runs_on("n1" if again.task in str(linked.core.held["n1"].runs) else "n2", again)
    node = linked.run(task).node
    linked.sample(node, again, 1, ms=2_000, final=True)
    linked.ends(node, again, boot_ms=2_000)
    (end,) = linked.records("run_end")
    assert (end["useful_ms"], end["lost_ms"], end["run"]) == (3_500, 2_500, "1-1.2")
    assert {r["run"] for r in linked.records("placement")} == {"1-1.1", "1-1.2"}


def test_checkpoints_are_committed_by_compare_and_swap(running: Any, ask: Any) -> None:
    region, task, order = running
    region.checkpoint("n1", order, step=5)
    (older,) = ask.sent(region.checkpoint("n1", order, step=4), CheckpointVerdict)
    assert older.committed
    assert region.run(task).checkpoint.step == 5
    stale = StartRun(
        **{
            **{f: getattr(order, f) for f in StartRun.__dataclass_fields__},
            "token": Token(Epoch(1, 1), 9),
        }
    )
    (refused,) = ask.sent(region.checkpoint("n1", stale, step=6), CheckpointVerdict)
    assert (refused.committed, refused.reason) == (False, "STALE_TOKEN")
    region.ends("n1", order)
    (late,) = ask.sent(region.checkpoint("n1", order, step=9), CheckpointVerdict)
    assert late.reason == "STALE_TOKEN"
    assert region.run(task).checkpoint.step == 5


UNKILLED = {"unkillable": "1", "lost": "1"}


def test_a_hardware_fault_sends_a_run_to_another_node_for_good(linked: Any, ask: Any) -> None:
    region = linked
    task, out = region.assign(ask.moving())
    (order,) = ask.sent(out, StartRun)
    region.runs_on("n1", order)
    region.attach("n2")
    out = region.ends("n1", order, exit_code=None, signal=9, evidence=UNKILLED)
    assert len(ask.sent(out, StartRun, "n2")) == 1
    assert region.run(task).excluded == ("n1",)
    (update, *_) = ask.sent(out, RunUpdate)
    assert (update.state, update.excluded) == (RunState.QUEUED, ("n1",))


def test_a_report_of_an_earlier_state_changes_nothing(running: Any, ask: Any) -> None:
    region, task, order = running
    late = AgentRunUpdate(task=task, token=order.token, state=RunState.STARTING)
    assert region.says("n1", late) == []
    assert region.run(task).state is RunState.RUNNING


def test_a_run_that_a_node_failed_tells_upward_which_node_even_if_it_ends(
    linked: Any, ask: Any
) -> None:
    task, out = linked.assign(ask.moving(), retries=0)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    out = linked.ends("n1", order, exit_code=None, signal=9, evidence=UNKILLED)
    assert not linked.run(task).is_live
    (update, *_) = ask.sent(out, RunUpdate)
    assert update.excluded == ("n1",)


def test_usage_that_never_came_of_an_earlier_placement_is_not_forgotten(
    linked: Any, ask: Any
) -> None:
    _, out = linked.assign(ask.moving())
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.attach("n2")
    linked.sample("n1", order, 1)
    out = linked.ends("n1", order, exit_code=None, signal=9, evidence=UNKILLED)
    (again,) = ask.sent(out, StartRun, "n2")
    linked.runs_on("n2", again)
    linked.sample("n2", again, 1, final=True)
    linked.ends("n2", again)
    (end,) = linked.records("run_end")
    assert end["complete"] is False


# --- caps -----------------------------------------------------------------------------------------


def _billed(region: Any, meter: str) -> list[int]:
    return [r["quantity"] for r in region.records("usage") if r["meter"] == meter]


def test_a_run_that_uses_up_its_grant_is_stopped_and_billed_to_the_cap_exactly(
    linked: Any, ask: Any, spec: Any
) -> None:
    caps = {"cpu.held_core_ms": 2_500, "mem.held_mib_ms": 1 << 40}
    task, out = linked.assign(spec, caps=caps)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    assert ask.sent(linked.sample("n1", order, 1, ms=2_000), StopRun) == []
    (stop,) = ask.sent(linked.sample("n1", order, 2, ms=2_000), StopRun)
    assert stop.outcome is Outcome.TIMED_OUT
    assert "a" * 64 in stop.reason
    assert ask.sent(linked.sample("n1", order, 3, ms=2_000, final=True), StopRun) == []
    assert _billed(linked, "cpu.held_core_ms") == [2_000, 500]
    assert sum(_billed(linked, "mem.held_mib_ms")) == 6_000 * 512
    assert sum(_billed(linked, "cpu.used_core_ms")) == 3_000
    linked.ends("n1", order, exit_code=None, signal=15, boot_ms=6_000, evidence={"stopped": "x"})
    run = linked.run(task)
    assert (run.outcome, run.failure_class) == (Outcome.TIMED_OUT, FailureClass.TIME_LIMIT)
    assert (run.cause, run.message) == ("federation", stop.reason)


def test_what_earlier_placements_were_billed_counts_against_the_cap(linked: Any, ask: Any) -> None:
    caps = {"cpu.held_core_ms": 3_000, "mem.held_mib_ms": 1 << 40}
    task, out = linked.assign(ask.moving(), caps=caps)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.sample("n1", order, 1, ms=2_000)
    out = linked.ends("n1", order, exit_code=None, signal=9, evidence={"lost": "1"})
    (again,) = ask.sent(out, StartRun)
    linked.runs_on("n1", again)
    assert ask.sent(linked.sample("n1", again, 1, ms=2_000), StopRun)
    assert _billed(linked, "cpu.held_core_ms") == [2_000, 1_000]
    assert linked.run(task).billed["cpu.held_core_ms"] == 3_000


def test_a_meter_that_is_not_granted_is_not_billed(linked: Any, ask: Any, spec: Any) -> None:
    _, out = linked.assign(spec, caps={"cpu.held_core_ms": 1 << 40})
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    assert ask.sent(linked.sample("n1", order, 1), StopRun)
    assert _billed(linked, "mem.held_mib_ms") == []


def test_a_run_that_ends_with_its_last_sample_at_the_cap_is_what_its_end_says(
    linked: Any, ask: Any, spec: Any
) -> None:
    task, out = linked.assign(spec, caps={"cpu.held_core_ms": 1_000, "mem.held_mib_ms": 1 << 40})
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    assert ask.sent(linked.sample("n1", order, 1, final=True), StopRun) == []
    linked.ends("n1", order, exit_code=3)
    assert linked.run(task).outcome is Outcome.FAILED


def test_the_owners_own_work_has_no_cap(linked: Any, ask: Any, spec: Any) -> None:
    (order,) = ask.sent(_native(linked, spec), StartRun)
    linked.runs_on("n1", order)
    assert ask.sent(linked.sample("n1", order, 1, ms=3_000_000), StopRun) == []
    assert _billed(linked, "cpu.held_core_ms") == [3_000_000]


# --- the owner's own work and orders -------------------------------------------------------------


def test_native_work_needs_no_federation_and_is_not_told_to_it(
    region: Any, ask: Any, spec: Any
) -> None:
    region.attach("n1")
    out = _native(region, spec)
    assert [type(e) for e in out if isinstance(e, Reply)] == [Reply]
    (order,) = ask.sent(out, StartRun)
    region.attach_upward()
    region.runs_on("n1", order)
    out = region.ends("n1", order)
    assert ask.sent(out, RunUpdate) == []
    assert region.core.runs == {}
    (end,) = region.records("run_end")
    assert (end["payer"], end["project"]) == ("eu", "eu")
    assert "grant_sha256" not in end


def test_an_evicted_guest_returns_to_the_federation(running: Any, ask: Any) -> None:
    region, task, order = running
    out = region.do(Evict(ticket=5, task=task, reason="p", request_id="e", request_digest="d"))
    (stop,) = ask.sent(out, StopRun)
    assert stop.outcome is Outcome.EVICTED
    out = region.ends("n1", order, exit_code=None, signal=15, evidence={"stopped": "x"})
    assert ask.sent(out, StartRun) == []
    assert ask.sent(out, RunUpdate)[0].outcome is Outcome.EVICTED


def test_evicting_what_does_not_run_is_not_found(linked: Any) -> None:
    event = Evict(ticket=5, task=NATIVE, reason="p", request_id="e", request_digest="d")
    (fail,) = [e for e in linked.do(event) if isinstance(e, Fail)]
    assert fail.error.reason is Reason.NOT_FOUND


def adjust(region: Any, body: Any, quantity: int, closed: Any = None) -> tuple[Any, Any]:
    """The answer to a correction of a record: what it made, or the refusal."""
    leaf = records.seal(body, seq=17, recorded_ms=1, salt="0" * 32)
    n = 1 + len(region.records("adjustment"))
    event = Adjust(
        ticket=3,
        original=leaf,
        run=f"projects/{body['project']}/tasks/{body['task']}@{body['run'].partition('.')[0]}",
        closed=closed,
        n=n,
        quantity=quantity,
        reason="agreed",
        request_id=f"a{n}",
        request_digest="d",
    )
    out = region.do(event)
    made = [e.value for e in out if isinstance(e, Reply)]
    refused = [e.error for e in out if isinstance(e, Fail)]
    return made[0] if made else None, refused[0] if refused else None


def cpu_held(region: Any) -> Any:
    return next(r for r in region.records("usage") if r["meter"] == "cpu.held_core_ms")


def test_an_adjustment_cites_the_leaf_and_updates_what_is_billed(running: Any) -> None:
    region, _, order = running
    region.sample("n1", order, 1)
    body = cpu_held(region)
    made, _ = adjust(region, body, -500)
    (adjustment,) = region.records("adjustment")
    assert made == adjustment["rid"] == f"{body['rid']}/adj/1"
    assert (adjustment["quantity"], adjustment["adjusts"]["seq"]) == (-500, 17)
    (run,) = region.core.runs.values()
    assert run.billed["cpu.held_core_ms"] == body["quantity"] - 500


def test_an_adjustment_beyond_zero_or_the_cap_is_refused_by_field(running: Any) -> None:
    region, _, order = running
    region.sample("n1", order, 1)
    body = cpu_held(region)
    (run,) = region.core.runs.values()
    room = run.caps["cpu.held_core_ms"] - body["quantity"]
    for quantity, what in (
        (-body["quantity"] - 1, "more than the"),
        (room + 1, "its grant allows"),
    ):
        made, refused = adjust(region, body, quantity)
        assert made is None
        assert refused.reason is Reason.INVALID_FIELD
        assert what in str(refused)
    assert region.records("adjustment") == []
    assert adjust(region, body, -body["quantity"])[0]
    made, refused = adjust(region, body, -1)
    assert made is None
    assert "leaves -1 of cpu.held_core_ms" in str(refused)
    assert adjust(region, body, room)[0]


def test_a_run_may_bill_again_what_was_taken_back(running: Any) -> None:
    region, _, order = running
    region.sample("n1", order, 1)
    body = cpu_held(region)
    (run,) = region.core.runs.values()
    assert adjust(region, body, -body["quantity"])[0]
    region.sample("n1", order, 2)
    (after,) = region.core.runs.values()
    assert 0 < after.billed["cpu.held_core_ms"] <= run.caps["cpu.held_core_ms"]


def test_usage_of_a_closed_run_is_corrected_in_its_row(running: Any) -> None:
    region, _, order = running
    region.sample("n1", order, 1)
    body = cpu_held(region)
    (run,) = region.core.runs.values()
    region.core.runs.clear()
    region.core.by_task.clear()
    assert adjust(region, body, -1)[1].reason is Reason.NOT_FOUND
    assert adjust(region, body, -7, closed=run)[0]
    assert region.rows["done", run.key].billed["cpu.held_core_ms"] == body["quantity"] - 7


def test_what_only_informs_is_corrected_without_touching_the_bill(running: Any) -> None:
    region, _, order = running
    region.sample("n1", order, 1)
    (before,) = region.core.runs.values()
    used = next(r for r in region.records("usage") if r["meter"] == "mem.used_mib_ms")
    assert adjust(region, used, 10**15)[0]
    assert list(region.core.runs.values()) == [before]


def test_failure_classes_reach_the_federation(running: Any, ask: Any) -> None:
    region, _, order = running
    out = region.ends("n1", order, exit_code=None, signal=9, evidence={"oom": "1"})
    (update,) = ask.sent(out, RunUpdate)
    assert update.failure_class is FailureClass.OOM_HOST
