"""The transition tables are total, reach every state, and end where the contract says."""

from collections.abc import Mapping
from typing import Any

import pytest

from intertie.model.states import (
    REGION_TRANSITIONS,
    RUN_TRANSITIONS,
    TASK_FINAL,
    TASK_TRANSITIONS,
    RegionState,
    RunState,
    TaskState,
    check_run,
    check_task,
)

TABLES: list[tuple[type[Any], Mapping[Any, frozenset[Any]], Any]] = [
    (TaskState, TASK_TRANSITIONS, TaskState.PENDING),
    (RunState, RUN_TRANSITIONS, RunState.ASSIGNED),
    (RegionState, REGION_TRANSITIONS, RegionState.REQUESTED),
]


def reach(table: Mapping[Any, frozenset[Any]], start: object) -> set[object]:
    seen, ahead = set(), {start}
    while ahead:
        state = ahead.pop()
        seen.add(state)
        ahead |= table[state] - seen
    return seen


@pytest.mark.parametrize(("states", "table", "first"), TABLES)
def test_a_table_has_a_line_for_each_state_and_names_no_other(
    states: Any, table: Mapping[Any, frozenset[Any]], first: object
) -> None:
    assert set(table) == set(states)
    assert first in table
    assert frozenset().union(*table.values()) <= set(states)


@pytest.mark.parametrize(("states", "table", "first"), TABLES)
def test_every_state_can_be_reached_from_the_first(
    states: Any, table: Mapping[Any, frozenset[Any]], first: object
) -> None:
    assert reach(table, first) == set(states)


@pytest.mark.parametrize(("states", "table", "first"), TABLES)
def test_every_state_can_still_come_to_an_end(
    states: Any, table: Mapping[Any, frozenset[Any]], first: object
) -> None:
    final = {state for state in states if not table[state]}
    assert final
    assert first not in final
    assert all(reach(table, state) & final for state in states)


def test_a_final_state_of_a_task_is_never_left() -> None:
    assert {s for s, after in TASK_TRANSITIONS.items() if not after} == TASK_FINAL
    with pytest.raises(AssertionError, match="SUCCEEDED -> RUNNING"):
        check_task(TaskState.SUCCEEDED, TaskState.RUNNING)
    check_task(TaskState.PENDING, TaskState.ASSIGNED)


def test_a_task_that_is_being_cancelled_never_runs_again() -> None:
    assert TASK_TRANSITIONS[TaskState.CANCELLING] == TASK_FINAL


def test_a_task_waits_for_a_region_before_it_can_be_cancelled_at_once() -> None:
    waiting = {TaskState.PENDING, TaskState.PARKED, TaskState.CANCELLING}
    assert {s for s, after in TASK_TRANSITIONS.items() if TaskState.CANCELLED in after} == waiting


def test_a_run_that_ended_never_goes_on() -> None:
    check_run(RunState.ENDED, RunState.ENDED)
    check_run(RunState.RUNNING, RunState.QUEUED)
    with pytest.raises(AssertionError, match="ENDED -> RUNNING"):
        check_run(RunState.ENDED, RunState.RUNNING)
