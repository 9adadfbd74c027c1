"""An assignment that is sent again and no longer verifies: what stands is what is answered."""

from typing import Any

from intertie.model.agentlink import StartRun
from intertie.model.link import AssignAck, Assignment
from intertie.model.spec import RunSpec, TaskSpec
from intertie.model.token import Epoch
from regional.domain.events import AssignRefused

PLAIN = TaskSpec(run=RunSpec(command=("true",)))


def assignment(task: str) -> Assignment:
    return Assignment(
        task=task,
        epoch=Epoch(1, 1),
        shard=3,
        shard_epoch=1,
        offer="",
        variant=-1,
        local_retries=2,
        attempts_left=2,
        index=0,
        spec=b"",
        principal="p",
        payer="vision",
    )


def refused(link: int, task: str) -> AssignRefused:
    return AssignRefused(
        link=link, assignment=assignment(task), reason="GRANT_INVALID", message="it is over"
    )


def test_a_live_run_is_not_refused_because_its_grant_is_over(linked: Any, ask: Any) -> None:
    task, out = linked.assign(PLAIN)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    out = linked.do(refused(linked.link, task))
    assert [ack.accepted for ack in ask.sent(out, AssignAck)] == [True]


def test_a_refusal_that_belongs_to_an_old_link_is_not_sent(linked: Any, ask: Any) -> None:
    task = "projects/vision/tasks/03-01890000-0000-7000-8000-000000000001"
    assert not ask.sent(linked.do(refused(linked.link - 99, task)), AssignAck)
