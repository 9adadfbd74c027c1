"""Exit codes of tasks, lines about states, and how values look in a cell."""

import pytest

from intertie.cli.shown import age, coarse, instant, short, size
from intertie.cli.tasks.ending import StateLines, exit_code, goes_on, state_line, worst
from intertie.cli.tasks.views import why
from intertie.model.spec import RunSpec, TaskSpec
from intertie.model.states import FailureClass, RunState, TaskState, WaitReason
from intertie.model.task import Run, Task, Wait
from intertie.model.token import Epoch, Token

S = TaskState


def make_task(state: TaskState = S.RUNNING, **fields: object) -> Task:
    spec = TaskSpec(name="t", run=RunSpec(command=("true",)))
    fixed: dict[str, object] = {"project": "p", "id": "00-x", "spec": spec, "state": state}
    return Task(**(fixed | fields))  # type: ignore[arg-type] # as Task has it


def make_run(**fields: object) -> Run:
    fixed: dict[str, object] = {"n": 1, "token": Token(Epoch(1, 1), 1), "region": "eu"}
    return Run(**(fixed | fields))  # type: ignore[arg-type] # as Run has it


@pytest.mark.parametrize(
    ("task", "code"),
    [
        (make_task(S.SUCCEEDED), 0),
        (make_task(S.FAILED), 10),
        (make_task(S.CANCELLED), 11),
        (make_task(S.PARKED), 12),
        (make_task(S.FAILED, failure_class=FailureClass.TIME_LIMIT), 13),
        (make_task(S.FAILED, failure_class=FailureClass.USER, exit_code=7), 10),
    ],
    ids=["succeeded", "failed", "cancelled", "parked", "time-limit", "user"],
)
def test_the_exit_code_tells_how_a_task_ended(task: Task, code: int) -> None:
    assert exit_code(task) == code


def test_a_task_that_runs_again_does_not_tell_why_its_last_run_ended() -> None:
    lost = "its node was silent"
    assert why(make_task(S.RUNNING, message=lost)) == ""
    assert why(make_task(S.FAILED, message=lost)) == lost
    assert why(make_task(S.CANCELLING, message=lost)) == lost


def test_the_programs_own_exit_code_is_passed_on_if_asked_for() -> None:
    assert exit_code(make_task(S.FAILED, exit_code=7), propagate=True) == 7
    killed = make_task(S.FAILED, runs=(make_run(signal=9),))
    assert exit_code(killed, propagate=True) == 137
    assert exit_code(make_task(S.SUCCEEDED, exit_code=0), propagate=True) == 0
    assert exit_code(make_task(S.CANCELLED), propagate=True) == 11


def test_of_many_tasks_the_first_that_did_not_succeed_counts() -> None:
    assert worst([make_task(S.SUCCEEDED), make_task(S.CANCELLED), make_task(S.FAILED)]) == 11
    assert worst([]) == 0


def test_a_change_of_state_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    tell = StateLines()
    for _ in range(2):
        tell(make_task(S.PENDING))
    tell(make_task(S.RUNNING))
    assert len(capsys.readouterr().err.splitlines()) == 2
    quiet = StateLines(quiet=True)
    quiet(make_task(S.RUNNING))
    assert capsys.readouterr().err == ""


def test_a_state_line_tells_where_and_why() -> None:
    run = make_run(state=RunState.STAGING, node="n7")
    assert state_line(make_task(S.ASSIGNED, runs=(run,))) == "t: ASSIGNED run 1 staging at eu on n7"
    wait = Wait(reason=WaitReason.NO_CAPACITY, detail="needs 4 devices")
    told = state_line(make_task(S.PENDING, wait=wait))
    assert told == "t: PENDING (NO_CAPACITY: needs 4 devices)"


def test_after_ctrl_c_it_is_said_how_to_go_on() -> None:
    assert "before anything was submitted" in goes_on([])
    assert "intertie task watch 00-x" in goes_on(["projects/p/tasks/00-x"])
    assert "the 2 tasks go on" in goes_on(["projects/p/tasks/00-x", "projects/p/tasks/00-y"])


def test_values_look_the_same_for_everybody() -> None:
    assert instant(1_796_036_400_123) == "2026-11-30T11:00:00.123Z"
    assert instant(0) == age(0) == ""
    assert [coarse(ms) for ms in (500, 90_000, 7_200_000, 200_000_000)] == [
        "0s",
        "90s",
        "2h",
        "2d",
    ]
    assert [size(n) for n in (0, 1023, 1536, 3 << 30)] == ["0B", "1023B", "1.5KiB", "3.0GiB"]
    assert short("a" * 100) == "a" * 57 + "..."
    assert short("one\ntwo") == "one"
