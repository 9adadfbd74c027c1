"""Updates of a run that leave together: the newest is enough, except for what people wait for."""

from intertie.model.link import AssignAck, RunUpdate
from intertie.model.states import Outcome, RunState
from intertie.model.token import Epoch, Token
from regional.adapters.newest import newest_only
from regional.domain.events import ToFederation

EPOCH = Epoch(1, 1)


def update(task: str, state: RunState, revision: int, link: int = 1) -> ToFederation:
    outcome = Outcome.SUCCEEDED if state is RunState.ENDED else None
    message = RunUpdate(
        task=task, token=Token(EPOCH, 1), revision=revision, state=state, outcome=outcome
    )
    return ToFederation(link=link, message=message)


def test_a_later_state_replaces_the_stages_before_it() -> None:
    ack = ToFederation(link=1, message=AssignAck(task="a", epoch=EPOCH, accepted=True))
    stages = [RunState.QUEUED, RunState.STAGING, RunState.STARTING]
    told = [update("a", state, n) for n, state in enumerate(stages)]
    other = update("b", RunState.STAGING, 7)
    assert newest_only([ack, *told[:2], other, told[2]]) == [ack, other, told[2]]


def test_running_and_the_end_are_told_apart() -> None:
    states = [RunState.STARTING, RunState.RUNNING, RunState.STOPPING, RunState.ENDED]
    told = [update("a", state, n) for n, state in enumerate(states)]
    assert newest_only(told) == told[1:]


def test_each_link_is_told_by_itself() -> None:
    told = [update("a", RunState.STAGING, 1, link=1), update("a", RunState.STARTING, 2, link=2)]
    assert newest_only(told) == told
