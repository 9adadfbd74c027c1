"""Assignments: accepted once, refused with a reason, acknowledged after the commit."""

from dataclasses import replace
from typing import Any

from intertie.drive.effects import Write
from intertie.model.agentlink import StartRun, StopRun
from intertie.model.link import (
    AssignAck,
    Assignment,
    CancelRun,
    DigestRequest,
    RunClosed,
    RunDigest,
    RunUpdate,
)
from intertie.model.spec import Residency
from intertie.model.states import Outcome, RunState
from intertie.model.token import Epoch
from regional.domain.events import (
    AssignRefused,
    FederationDown,
    FederationUp,
    ToFederation,
    ToNode,
)


def test_the_run_is_written_before_anything_about_it_is_sent(
    linked: Any, spec: Any, monkeypatch: Any
) -> None:
    handle = linked.core.handle
    seen: list[object] = []

    def kept(event: Any, now: Any) -> list[object]:
        seen.extend(handle(event, now))
        return seen

    monkeypatch.setattr(linked.core, "handle", kept)
    linked.assign(spec)
    kinds = [type(effect) for effect in seen]
    assert kinds.index(Write) < kinds.index(ToFederation)
    assert kinds.index(Write) < kinds.index(ToNode)


def test_an_accepted_assignment_is_acknowledged_and_started(
    linked: Any, ask: Any, spec: Any
) -> None:
    task, out = linked.assign(spec)
    assert ask.kinds(out) == ["AssignAck", "RunUpdate", "StartRun"]
    (ack,) = ask.sent(out, AssignAck)
    assert ack.accepted
    (update,) = ask.sent(out, RunUpdate)
    assert (update.state, update.node, update.placements) == (RunState.STAGING, "n1", 1)
    assert linked.run(task).token.sub == 1


def test_the_same_assignment_again_gets_the_same_answer_and_starts_nothing(
    linked: Any, ask: Any, spec: Any
) -> None:
    task, _ = linked.assign(spec)
    _, out = linked.assign(spec, task)
    assert ask.kinds(out) == ["AssignAck", "RunUpdate"]
    assert ask.sent(out, AssignAck)[0].accepted
    assert len(linked.live()) == 1


def test_an_older_epoch_is_refused_as_stale(linked: Any, ask: Any, spec: Any) -> None:
    task, _ = linked.assign(spec, epoch=Epoch(1, 3))
    _, out = linked.assign(spec, task, epoch=Epoch(1, 2))
    (ack,) = ask.sent(out, AssignAck)
    assert (ack.accepted, ack.reason) == (False, "STALE_TOKEN")


def test_an_older_generation_is_stale_whatever_its_number(linked: Any, ask: Any, spec: Any) -> None:
    task, _ = linked.assign(spec, epoch=Epoch(2, 1))
    _, out = linked.assign(spec, task, epoch=Epoch(1, 9))
    assert ask.sent(out, AssignAck)[0].reason == "STALE_TOKEN"


def test_a_newer_epoch_waits_for_the_death_of_the_run_that_it_replaces(
    linked: Any, ask: Any, spec: Any
) -> None:
    linked.attach("n2")
    task, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    node = linked.run(task).node
    linked.runs_on(node, order)
    _, out = linked.assign(spec, task, epoch=Epoch(1, 2))
    (stop,) = ask.sent(out, StopRun)
    assert [ack.accepted for ack in ask.sent(out, AssignAck)] == [False]
    assert not ask.sent(out, StartRun)
    assert (stop.token, stop.outcome) == (order.token, Outcome.SUPERSEDED)
    out = linked.ends(node, order, exit_code=None, signal=15, evidence={"stopped": "1"})
    ended = [u for u in ask.sent(out, RunUpdate) if u.token == order.token]
    assert ended[0].outcome is Outcome.SUPERSEDED
    _, out = linked.assign(spec, task, epoch=Epoch(1, 3))
    assert [ack.accepted for ack in ask.sent(out, AssignAck)] == [True]


def test_residency_is_checked_again_by_the_region(linked: Any, ask: Any, spec: Any) -> None:
    bound = replace(spec, residency=Residency(not_within=("DE/DE-HE",)))
    task, out = linked.assign(bound)
    (ack,) = ask.sent(out, AssignAck)
    assert (ack.accepted, ack.reason) == (False, "RESIDENCY_VIOLATION")
    assert linked.core.run_of(task) is None


def test_a_full_queue_refuses(region: Any, ask: Any, spec: Any) -> None:
    region.attach_upward()
    for _ in range(100):
        region.assign(spec)
    _, out = region.assign(spec)
    assert ask.sent(out, AssignAck)[0].reason == "QUOTA_EXCEEDED"


def test_an_assignment_without_a_good_grant_is_refused_with_its_reason(
    linked: Any, ask: Any
) -> None:
    assignment = Assignment(
        task="projects/vision/tasks/03-01890000-0000-7000-8000-00000000bbbb",
        epoch=Epoch(1, 1),
        shard=3,
        shard_epoch=1,
        offer="",
        variant=-1,
        local_retries=0,
        attempts_left=0,
        index=0,
        spec=b"",
        principal="p",
        payer="vision",
    )
    event = AssignRefused(
        link=linked.link, assignment=assignment, reason="GRANT_INVALID", message="not signed"
    )
    (ack,) = ask.sent(linked.do(event), AssignAck)
    assert (ack.accepted, ack.reason, ack.message) == (False, "GRANT_INVALID", "not signed")


def test_messages_of_an_older_link_are_not_heard(linked: Any, ask: Any, spec: Any) -> None:
    linked.link -= 1
    _, out = linked.assign(spec)
    assert out == []
    assert linked.live() == []


def test_cancel_of_a_run_that_waits_ends_it_at_once(region: Any, ask: Any, spec: Any) -> None:
    region.attach_upward()
    task, _ = region.assign(spec)
    out = region.said(CancelRun(task=task, epoch=Epoch(1, 1), reason="enough"))
    (update,) = ask.sent(out, RunUpdate)
    assert (update.outcome, update.cause) == (Outcome.CANCELLED, "submitter")
    (end,) = region.records("run_end")
    assert end["complete"] is True
    assert end["node"] == "none"


def test_cancel_of_what_was_never_accepted_says_so(linked: Any, ask: Any) -> None:
    task = "projects/vision/tasks/03-01890000-0000-7000-8000-00000000cccc"
    out = linked.said(CancelRun(task=task, epoch=Epoch(1, 1), reason="enough"))
    assert ask.sent(out, AssignAck)[0].accepted is False


def test_the_first_order_to_stop_stands(linked: Any, ask: Any, spec: Any) -> None:
    task, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.said(CancelRun(task=task, epoch=Epoch(1, 1), reason="enough"))
    linked.said(CancelRun(task=task, epoch=Epoch(1, 1), reason="newer", superseded=True))
    linked.ends("n1", order, exit_code=None, signal=15, evidence={"stopped": "1"})
    assert linked.run(task).outcome is Outcome.CANCELLED


def test_an_end_is_told_again_on_a_new_link_until_it_is_closed(
    linked: Any, ask: Any, spec: Any
) -> None:
    task, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.do(FederationDown(link=linked.link))
    assert ask.sent(linked.ends("n1", order), RunUpdate) == []
    out = linked.attach_upward()
    (update,) = ask.sent(out, RunUpdate)
    assert update.outcome is Outcome.SUCCEEDED
    linked.said(RunClosed(task=task, token=update.token))
    assert linked.core.runs == {}
    assert ask.sent(linked.attach_upward(), RunUpdate) == []
    assert linked.run(task).outcome is Outcome.SUCCEEDED


def test_a_digest_lists_guests_that_are_not_closed_in_parts(
    region: Any, ask: Any, spec: Any
) -> None:
    region.attach_upward()
    names = {region.assign(spec)[0] for _ in range(5)}
    (digest,) = ask.sent(region.said(DigestRequest(id=7)), RunDigest)
    assert (digest.id, digest.last) == (7, True)
    assert {entry.task for entry in digest.entries} == names


def test_an_empty_region_answers_a_digest_too(linked: Any, ask: Any) -> None:
    (digest,) = ask.sent(linked.said(DigestRequest(id=1)), RunDigest)
    assert (digest.entries, digest.last) == ((), True)


def test_a_second_link_replaces_the_first(linked: Any, ask: Any) -> None:
    first = linked.link
    linked.attach_upward()
    linked.do(FederationDown(link=first))
    assert linked.core.upward.link == linked.link
    assert linked.do(FederationUp(link=99, replica="fed-2"))
