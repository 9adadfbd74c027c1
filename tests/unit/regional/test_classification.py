"""The table of ends: evidence in, outcome, class and blame out. Each row is one case."""

import pytest

from intertie.model.agentlink import AgentRunUpdate
from intertie.model.states import FailureClass, Outcome, RunState
from intertie.model.token import Epoch, Token
from regional.domain.runs.classify import classify
from regional.domain.runs.run import StopOrder

F, U = FailureClass, Outcome
STOP = StopOrder(outcome=Outcome.EVICTED, reason="power", cause="owner")


def _update(
    exit_code: int | None = None, signal: int = 0, evidence: dict[str, str] | None = None
) -> AgentRunUpdate:
    return AgentRunUpdate(
        task="t",
        token=Token(Epoch(1, 1), 1),
        state=RunState.ENDED,
        exit_code=exit_code,
        signal=signal,
        evidence=evidence or {},
    )


@pytest.mark.parametrize(
    ("update", "outcome", "failure", "cause"),
    [
        (_update(0), U.SUCCEEDED, None, "task"),
        (_update(3), U.FAILED, F.USER, "task"),
        (_update(signal=11), U.FAILED, F.USER, "task"),
        (_update(signal=9), U.FAILED, F.UNKNOWN, "task"),
        (_update(signal=9, evidence={"oom": "1"}), U.FAILED, F.OOM_HOST, "task"),
        (_update(signal=9, evidence={"timeout": "1"}), U.TIMED_OUT, F.TIME_LIMIT, "task"),
        (_update(signal=9, evidence={"deadline": "1"}), U.LOST, None, "region"),
        (_update(signal=9, evidence={"disk": "1"}), U.FAILED, F.IO, "task"),
        (_update(evidence={"lost": "keeper"}), U.LOST, None, "region"),
        (_update(evidence={"superseded": "1"}), U.SUPERSEDED, None, "federation"),
        (_update(evidence={"errno": "ENOENT"}), U.FAILED, F.USER, "task"),
        (_update(evidence={"errno": "EPERM"}), U.FAILED, F.USER, "task"),
        (_update(evidence={"staging": "no such blob"}), U.FAILED, F.ENVIRONMENT, "region"),
        (
            _update(evidence={"residency": "US is not in DE", "staging": "US is not in DE"}),
            *(U.REJECTED, None, "region"),
        ),
        (_update(0, evidence={"output": "model.npz is missing"}), U.FAILED, F.USER, "task"),
        (
            _update(signal=9, evidence={"unkillable": "1", "lost": "1"}),
            *(U.FAILED, F.HARDWARE, "region"),
        ),
        (
            _update(signal=9, evidence={"unkillable": "1", "timeout": "1"}),
            *(U.TIMED_OUT, F.TIME_LIMIT, "task"),
        ),
    ],
)
def test_each_kind_of_evidence_has_its_meaning(
    update: AgentRunUpdate, outcome: Outcome, failure: FailureClass | None, cause: str
) -> None:
    found = classify(update, None, federation_was_away=False)
    assert (found.outcome, found.failure_class, found.cause) == (outcome, failure, cause)


def test_a_lease_that_ended_is_the_federations_doing_only_when_it_was_away() -> None:
    found = classify(_update(signal=9, evidence={"deadline": "1"}), None, federation_was_away=True)
    assert (found.outcome, found.cause) == (Outcome.LOST, "federation")


def test_our_own_order_to_stop_explains_the_end_before_anything_else() -> None:
    found = classify(
        _update(signal=9, evidence={"oom": "1", "stopped": "power"}),
        STOP,
        federation_was_away=False,
    )
    assert (found.outcome, found.cause, found.message) == (Outcome.EVICTED, "owner", "power")


def test_what_ended_well_by_itself_has_succeeded_though_it_was_to_stop() -> None:
    assert classify(_update(0), STOP, federation_was_away=False).outcome is Outcome.SUCCEEDED
    assert (
        classify(_update(0, evidence={"stopped": "1"}), STOP, federation_was_away=False).outcome
        is Outcome.EVICTED
    )


def test_a_node_that_cannot_kill_is_at_fault_whatever_was_ordered() -> None:
    found = classify(
        _update(signal=9, evidence={"unkillable": "1", "lost": "1"}),
        STOP,
        federation_was_away=False,
    )
    assert found.failure_class is FailureClass.HARDWARE


def test_a_missing_executable_is_named_in_words() -> None:
    assert (
        "does not exist"
        in classify(_update(evidence={"errno": "ENOENT"}), None, federation_was_away=False).message
    )
