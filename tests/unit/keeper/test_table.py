"""The keeper's decisions, by example: an event in, effects out, no process and no clock."""

from typing import Any

import pytest

from edge_agent.keeper import protocol
from edge_agent.keeper.domain.events import (
    Admission,
    DiskUsed,
    Effect,
    ExecFailed,
    Executed,
    Exited,
    Extend,
    Final,
    Forget,
    Key,
    Note,
    Notice,
    Refuse,
    Reply,
    Save,
    Shutdown,
    Spawn,
    Spawned,
    SpawnFailed,
    Start,
    Stop,
    Sweep,
    Swept,
    Terminate,
    Tick,
)
from edge_agent.keeper.domain.record import NEXT, Run
from edge_agent.keeper.domain.table import FENCES_KEPT, MAX_RUNS, Table
from edge_agent.keeper.report import ENDED, RUNNING, STARTING, STOPPING, StartFault, Usage
from edge_agent.keeper.spec import Limits, StopOrder, Token

MS = 1_000_000
BOOT = "boot-a"
FINAL = Final(Usage(cpu_ns=5, memory_peak_bytes=7), 11, 13)


def key_of(n: int = 1, token: Token | None = None, task: str = "t") -> Key:
    return Key(f"projects/p/tasks/{task}/runs/{n}", token or Token(1, n, 1))


def admission(key: Key, **changes: Any) -> Admission:
    base = Admission(key, f"mark-{key.token}", 1_000, Limits(), None, None)
    return base._replace(**changes)


def fresh() -> Table:
    return Table(BOOT, t_kill_ms=10_000)


def of(effects: list[Effect], kind: type) -> list[Any]:
    return [effect for effect in effects if isinstance(effect, kind)]


def running(table: Table, key: Key, now: int = 0, **changes: Any) -> None:
    table.handle(Start(admission(key, **changes), 1), now)
    table.handle(Spawned(key, 100, 5), now)
    table.handle(Executed(key), now)
    assert table.runs[key].state == RUNNING


def refusal(effects: list[Effect]) -> str:
    (refused,) = of(effects, Refuse)
    return str(refused.fault.reason)


def test_a_start_is_saved_then_acknowledged_then_spawned() -> None:
    effects = fresh().handle(Start(admission(key_of()), 9), 0)
    assert [type(effect) for effect in effects] == [Save, Reply, Spawn]
    assert effects[0] == Save(key_of(), durable=True)
    (reply,) = of(effects, Reply)
    assert reply.result["state"] == STARTING


def test_an_end_is_reported_only_when_nothing_is_left() -> None:
    table = fresh()
    running(table, key_of())
    effects = table.handle(Exited(key_of(), 0, None, 1, 2), 5)
    assert effects == [Sweep(key_of())]
    assert table.handle(Swept(key_of(), 3, 3, None), 6) == []
    assert table.runs[key_of()].state == STOPPING
    due = table.next_due()
    assert due is not None
    assert table.handle(Tick(), due) == [Sweep(key_of())]
    effects = table.handle(Swept(key_of(), 0, 0, FINAL), due)
    assert Note("ended", key_of()) in effects
    ended = table.runs[key_of()].ended
    assert ended is not None
    assert (ended.by, ended.code, ended.leftovers, ended.stdout_bytes) == ("SELF", 0, 3, 11)
    assert table.next_due() is None


@pytest.mark.parametrize("token", [Token(1, 5, 2), Token(1, 5, 1), Token(1, 4, 9), Token(0, 9, 9)])
def test_a_token_at_or_below_the_fence_is_stale(token: Token) -> None:
    table = fresh()
    table.handle(Start(admission(key_of(5, Token(1, 5, 2))), 1), 0)
    effects = table.handle(Start(admission(key_of(6, token)), 2), 0)
    assert refusal(effects) == protocol.STALE_TOKEN
    assert not of(effects, Spawn)


def test_the_same_start_again_is_answered_and_spawns_nothing() -> None:
    table = fresh()
    running(table, key_of())
    (reply,) = table.handle(Start(admission(key_of()), 7), 1)
    assert isinstance(reply, Reply)
    assert (reply.tag, reply.result["state"]) == (7, RUNNING)


def test_a_higher_token_is_spawned_only_after_the_older_death_is_verified() -> None:
    table = fresh()
    old, new = key_of(1), key_of(2)
    running(table, old)
    effects = table.handle(Start(admission(new), 2), 10)
    assert Sweep(old) in effects
    assert not of(effects, Spawn)
    assert not of(table.handle(Exited(old, None, 9, 0, 0), 11), Spawn)
    effects = table.handle(Swept(old, 0, 0, FINAL), 12)
    assert effects.index(Note("ended", old)) < effects.index(Spawn(new))
    ended = table.runs[old].ended
    assert ended is not None
    assert ended.by == "SUPERSEDED"


def test_a_third_token_ends_the_second_before_it_ever_ran() -> None:
    table = fresh()
    running(table, key_of(1))
    table.handle(Start(admission(key_of(2)), 2), 10)
    effects = table.handle(Start(admission(key_of(3)), 3), 11)
    assert Note("ended", key_of(2)) in effects
    assert not of(effects, Spawn)
    table.handle(Exited(key_of(1), None, 9, 0, 0), 12)
    assert of(table.handle(Swept(key_of(1), 0, 0, FINAL), 13), Spawn) == [Spawn(key_of(3))]


def test_what_does_not_die_within_t_kill_is_reported_and_blocks_its_successor() -> None:
    table = fresh()
    old, new = key_of(1), key_of(2)
    running(table, old)
    table.handle(Start(admission(new), 2), 0)
    table.handle(Swept(old, 1, 0, None), 0)
    effects = table.handle(Tick(), 10_000 * MS)
    assert Note("unkillable", old) in effects
    assert Sweep(old) in effects
    ended = table.runs[new].ended
    assert ended is not None
    assert ended.start_fault == StartFault(
        "predecessor", "EBUSY", "the run that this one replaces does not die"
    )
    table.handle(Exited(old, None, 9, 0, 0), 20_000 * MS)
    table.handle(Swept(old, 0, 0, FINAL), 20_000 * MS)
    late = table.runs[old].ended
    assert late is not None
    assert late.unkillable


def test_a_stop_gives_notice_then_term_then_kills() -> None:
    table = fresh()
    running(table, key_of())
    order = StopOrder(key_of().run, Token(1, 1, 1), "reclaim", notice_ms=100, grace_ms=50)
    effects = table.handle(Stop(order, 3), 0)
    assert of(effects, Notice) == [Notice(key_of(), "STOP", "reclaim", 100 * MS, 150 * MS)]
    assert not of(effects, Terminate)
    assert table.next_due() == 100 * MS
    assert table.handle(Tick(), 100 * MS) == [Terminate(key_of())]
    assert table.next_due() == 150 * MS
    assert table.handle(Tick(), 150 * MS) == [Sweep(key_of())]


def test_a_second_stop_can_only_hasten_the_first_and_does_not_change_its_cause() -> None:
    table = fresh()
    running(table, key_of())
    for grace_ms, expected in ((500, 500), (900, 500), (100, 100)):
        order = StopOrder(key_of().run, Token(1, 1, 1), f"r{grace_ms}", 0, grace_ms)
        table.handle(Stop(order, 3), 0)
        assert table.runs[key_of()].kill_at == expected * MS
    assert table.runs[key_of()].reason == "r500"


def test_a_deadline_outruns_the_grace_of_a_stop() -> None:
    table = fresh()
    running(table, key_of(), deadline_boot_ns=100 * MS)
    order = StopOrder(key_of().run, Token(1, 1, 1), "slow", 50_000, 10_000)
    table.handle(Stop(order, 3), 0)
    assert table.next_due() == 100 * MS
    assert Terminate(key_of()) in table.handle(Tick(), 100 * MS)
    assert table.next_due() == 1_100 * MS
    assert Sweep(key_of()) in table.handle(Tick(), 1_100 * MS)
    assert table.runs[key_of()].by == "STOP"


def test_at_its_deadline_a_run_is_told_then_killed_with_half_of_t_kill_left() -> None:
    table = fresh()
    running(table, key_of(), deadline_boot_ns=100 * MS, grace_ms=60_000)
    effects = table.handle(Tick(), 100 * MS)
    assert effects[1:] == [
        Notice(key_of(), "DEADLINE", "deadline", 100 * MS, 5_100 * MS),
        Terminate(key_of()),
    ]
    assert table.handle(Tick(), 5_099 * MS) == []
    assert table.next_due() == 5_100 * MS
    assert table.handle(Tick(), 5_100 * MS) == [Sweep(key_of())]
    table.handle(Swept(key_of(), 1, 0, None), 5_100 * MS)
    assert not table.runs[key_of()].unkillable
    assert Note("unkillable", key_of()) in table.handle(Tick(), 10_100 * MS)


def test_a_grace_shorter_than_half_of_t_kill_is_kept_at_the_deadline() -> None:
    table = fresh()
    running(table, key_of(), deadline_boot_ns=100 * MS, grace_ms=7)
    table.handle(Tick(), 100 * MS)
    assert table.next_due() == 107 * MS


@pytest.mark.parametrize(("late_ms", "kill_ms"), [(0, 1_100), (999, 1_100), (1_000, None)])
def test_who_looks_late_gives_only_what_is_left_of_the_grace(
    late_ms: int, kill_ms: int | None
) -> None:
    table = fresh()
    running(table, key_of(), deadline_boot_ns=100 * MS)
    effects = table.handle(Tick(), (100 + late_ms) * MS)
    assert bool(of(effects, Sweep)) == (kill_ms is None)
    assert table.runs[key_of()].kill_at == (None if kill_ms is None else kill_ms * MS)


def test_a_stop_of_a_newer_token_stops_and_of_an_older_one_is_refused() -> None:
    table = fresh()
    key = key_of(3, Token(1, 3, 2))
    running(table, key)
    older = table.handle(Stop(StopOrder(key.run, Token(1, 3, 1), "x"), 1), 0)
    assert refusal(older) == protocol.STALE_TOKEN
    assert table.runs[key].state == RUNNING
    table.handle(Stop(StopOrder(key.run, Token(2, 0, 0), "x"), 2), 0)
    assert table.runs[key].state == STOPPING


def test_a_stop_of_nothing_is_not_found() -> None:
    effects = fresh().handle(Stop(StopOrder(key_of().run, Token(1, 1, 1), "x"), 1), 0)
    assert refusal(effects) == protocol.NOT_FOUND


def test_a_stop_between_decision_and_spawn_ends_the_run_without_a_process() -> None:
    table = fresh()
    table.handle(Start(admission(key_of()), 1), 0)
    effects = table.handle(Stop(StopOrder(key_of().run, Token(1, 1, 1), "x"), 2), 0)
    assert Note("ended", key_of()) in effects
    ended = table.runs[key_of()].ended
    assert ended is not None
    assert (ended.by, ended.code, ended.signal) == ("STOP", None, None)


@pytest.mark.parametrize(
    ("by", "event", "changes"),
    [
        ("TIMEOUT", Tick(), {"timeout_ms": 50}),
        ("DEADLINE", Tick(), {"deadline_boot_ns": 50 * MS}),
        ("DISK", DiskUsed(key_of(), 11), {"limits": Limits(disk_bytes=10)}),
        ("SHUTDOWN", Shutdown(), {}),
    ],
)
def test_each_cause_of_a_stop_is_told(by: str, event: Any, changes: dict[str, Any]) -> None:
    table = fresh()
    running(table, key_of(), **changes)
    table.handle(event, 50 * MS)
    assert table.runs[key_of()].state == STOPPING
    table.handle(Exited(key_of(), None, 15, 0, 0), 60 * MS)
    table.handle(Swept(key_of(), 0, 0, FINAL), 60 * MS)
    ended = table.runs[key_of()].ended
    assert ended is not None
    assert (ended.by, ended.signal) == (by, 15)


def test_disk_within_the_quota_stops_nothing() -> None:
    table = fresh()
    running(table, key_of(), limits=Limits(disk_bytes=10))
    assert table.handle(DiskUsed(key_of(), 10), 1) == []


def test_a_program_that_cannot_be_executed_is_a_start_failure_without_exit_code() -> None:
    table = fresh()
    table.handle(Start(admission(key_of()), 1), 0)
    table.handle(Spawned(key_of(), 100, 5), 0)
    fault = StartFault("exec", "ENOENT", "No such file")
    table.handle(ExecFailed(key_of(), fault), 1)
    table.handle(Exited(key_of(), 127, None, 0, 0), 1)
    table.handle(Swept(key_of(), 0, 0, FINAL), 1)
    ended = table.runs[key_of()].ended
    assert ended is not None
    assert (ended.by, ended.start_fault, ended.code) == ("START_FAILURE", fault, None)


def test_a_spawn_that_fails_ends_the_run_and_lets_the_next_token_in() -> None:
    table = fresh()
    table.handle(Start(admission(key_of()), 1), 0)
    table.handle(SpawnFailed(key_of(), StartFault("fork", "EAGAIN", "")), 0)
    assert table.runs[key_of()].state == ENDED
    assert Spawn(key_of(2)) in table.handle(Start(admission(key_of(2)), 1), 0)


def test_extend_moves_deadlines_later_never_earlier_and_leaves_others_alone() -> None:
    table = fresh()
    moves, stays = key_of(1, task="a"), key_of(1, task="b")
    running(table, moves, deadline_boot_ns=100)
    running(table, stays)
    assert Reply(1, {"extended": 1}) in table.handle(Extend(200, BOOT, None, 1), 0)
    table.handle(Extend(150, BOOT, None, 2), 0)
    assert table.runs[moves].deadline_at == 200
    assert table.runs[stays].deadline_at is None
    assert Reply(3, {"extended": 0}) in table.handle(Extend(300, BOOT, frozenset(), 3), 0)
    assert refusal(table.handle(Extend(400, "boot-b", None, 4), 0)) == protocol.BOOT_MISMATCH


def test_extend_does_not_revive_a_run_that_is_being_killed() -> None:
    table = fresh()
    running(table, key_of(), deadline_boot_ns=100)
    table.handle(Tick(), 100)
    assert Reply(1, {"extended": 0}) in table.handle(Extend(10_000, BOOT, None, 1), 101)


def test_a_start_whose_lease_is_over_already_is_refused_and_raises_no_fence() -> None:
    table = fresh()
    late = Start(admission(key_of(), deadline_boot_ns=5), 1)
    assert refusal(table.handle(late, 5)) == protocol.DEADLINE_PASSED
    assert table.fences == {}


def test_only_an_ended_run_can_be_forgotten_and_its_fence_stays() -> None:
    table = fresh()
    running(table, key_of())
    assert refusal(table.handle(Forget(key_of(), 1), 0)) == protocol.NOT_ENDED
    table.handle(Exited(key_of(), 0, None, 0, 0), 0)
    table.handle(Swept(key_of(), 0, 0, FINAL), 0)
    assert Reply(1, {"forgotten": True}) in table.handle(Forget(key_of(), 1), 0)
    assert table.runs == {}
    assert refusal(table.handle(Start(admission(key_of()), 1), 0)) == protocol.STALE_TOKEN
    assert table.handle(Forget(key_of(), 1), 0) == [Reply(1, {"forgotten": False})]


def test_the_table_and_the_fences_are_bounded() -> None:
    table = fresh()
    for number in range(MAX_RUNS):
        table.handle(Start(admission(key_of(task=f"t{number}")), 1), 0)
    full = table.handle(Start(admission(key_of(task="more")), 1), 0)
    assert refusal(full) == protocol.TABLE_FULL
    fences = {f"projects/p/tasks/old{i}": Token(1, 1, 1) for i in range(FENCES_KEPT)}
    table = Table(BOOT, t_kill_ms=1, fences=fences)
    key = key_of(task="new")
    table.handle(Start(admission(key), 1), 0)
    table.handle(SpawnFailed(key, StartFault("fork", "EAGAIN", "")), 0)
    table.handle(Forget(key, 1), 0)
    assert len(table.fences) == FENCES_KEPT
    assert "projects/p/tasks/old0" not in table.fences
    assert "projects/p/tasks/new" in table.fences


def test_fences_come_back_from_runs_and_from_what_was_forgotten() -> None:
    run = Run(admission(key_of(4, Token(2, 1, 1))), accepted_at=0)
    table = Table(BOOT, t_kill_ms=1, runs=(run,), fences={"projects/p/tasks/u": Token(3, 0, 0)})
    assert table.fences == {
        "projects/p/tasks/t": Token(2, 1, 1),
        "projects/p/tasks/u": Token(3, 0, 0),
    }


def test_a_draining_table_accepts_nothing_new() -> None:
    table = fresh()
    table.handle(Shutdown(), 0)
    effects = table.handle(Start(admission(key_of()), 1), 0)
    assert refusal(effects) == protocol.SHUTTING_DOWN


@pytest.mark.parametrize(
    ("usage", "limit", "rss", "code", "expected"),
    [
        (Usage(oom_kills=2), None, 0, None, "kernel"),
        (Usage(oom_kills=0), 100, 100, 1, None),
        (Usage(), 100, 90, 1, "rlimit"),
        (Usage(), 100, 90, 0, None),
        (Usage(), 100, 10, 1, None),
        (Usage(), None, 90, 1, None),
    ],
)
def test_evidence_of_too_little_memory(
    usage: Usage, limit: int | None, rss: int, code: int | None, expected: str | None
) -> None:
    table = fresh()
    running(table, key_of(), limits=Limits(memory_bytes=limit))
    signal = 9 if code is None else None
    table.handle(Exited(key_of(), code, signal, 0, rss), 0)
    table.handle(Swept(key_of(), 0, 0, Final(usage, 0, 0)), 0)
    ended = table.runs[key_of()].ended
    assert ended is not None
    assert ended.oom == expected


def test_no_state_can_be_left_for_one_that_the_table_of_moves_lacks() -> None:
    assert NEXT[ENDED] == ()
    run = Run(admission(key_of()), accepted_at=0, state=ENDED)
    with pytest.raises(AssertionError):
        run.moved(RUNNING)


def test_a_run_survives_its_own_record() -> None:
    table = fresh()
    running(table, key_of(), limits=Limits(memory_bytes=5), deadline_boot_ns=77, timeout_ms=3)
    run = table.runs[key_of()]
    again = Run.from_body(run.to_body())
    assert again.to_body() == run.to_body()
    assert again.admission == run.admission
