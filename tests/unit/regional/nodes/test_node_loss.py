"""Silent nodes, nodes that come back, restarts of the region: who may start a run again."""

from typing import Any

from intertie.drive.effects import Tick
from intertie.model.agentlink import AckRun, AgentLease, AgentRunUpdate, StartRun, StopRun
from intertie.model.link import LeaseGrant, RunUpdate
from intertie.model.states import FailureClass, Outcome, Reachability, RunState
from regional.domain.events import RenewalSent

LEASE_MS = 6_000
OVER_MS = int(LEASE_MS * 1.002) + 1_000


def _running(region: Any, ask: Any, spec: Any, **more: Any) -> tuple[str, StartRun]:
    task, out = region.assign(spec, **more)
    (order,) = ask.sent(out, StartRun)
    region.runs_on("n1", order)
    region.beat("n1")
    return task, order


def test_a_move_run_starts_elsewhere_only_when_its_lease_is_over(linked: Any, ask: Any) -> None:
    task, order = _running(linked, ask, ask.moving())
    linked.attach("n2")
    linked.detach("n1")
    linked.pass_ms(OVER_MS - 1)
    linked.renew()
    assert ask.sent(linked.do(Tick()), StartRun) == []
    linked.pass_ms(1)
    (again,) = ask.sent(linked.do(Tick()), StartRun, "n2")
    assert again.token == order.token.next()
    run = linked.run(task)
    assert (run.placements, run.excluded, run.local_retries) == (2, ("n1",), 1)


def test_the_lease_counts_from_the_last_beat_that_was_heard(linked: Any, ask: Any) -> None:
    _running(linked, ask, ask.moving())
    linked.attach("n2")
    linked.pass_ms(4_000)
    linked.beat("n1")
    linked.detach("n1")
    linked.pass_ms(OVER_MS - 1)
    linked.renew()
    assert ask.sent(linked.do(Tick()), StartRun) == []


def test_the_core_asks_to_be_woken_when_a_lease_is_over(linked: Any, ask: Any) -> None:
    _running(linked, ask, ask.moving())
    granted_ns = linked.now_ns
    linked.detach("n1")
    linked.core.upward._link = 0
    assert linked.core.deadline == granted_ns + 3_000 * 1_000_000
    linked.pass_ms(3_000)
    linked.do(Tick())
    assert linked.core.deadline == granted_ns + OVER_MS * 1_000_000


def test_a_stay_run_is_not_started_elsewhere_by_silence(linked: Any, ask: Any, spec: Any) -> None:
    task, _ = _running(linked, ask, spec)
    linked.attach("n2")
    linked.detach("n1")
    linked.pass_ms(3_600_000)
    assert ask.sent(linked.do(Tick()), StartRun) == []
    assert linked.run(task).state is RunState.RUNNING
    assert linked.core.nodes["n1"].reachability is Reachability.UNKNOWN


def test_a_move_run_for_which_no_node_is_left_returns_to_the_federation(
    linked: Any, ask: Any
) -> None:
    task, _ = _running(linked, ask, ask.moving())
    linked.detach("n1")
    linked.pass_ms(OVER_MS)
    linked.renew()
    (update,) = ask.sent(linked.do(Tick()), RunUpdate)
    assert (update.outcome, update.failure_class) == (Outcome.LOST, FailureClass.HARDWARE)
    assert linked.run(task).state is RunState.ENDED


def test_a_run_without_tries_left_returns_to_the_federation(linked: Any, ask: Any) -> None:
    task, _ = _running(linked, ask, ask.moving(), retries=0)
    linked.attach("n2")
    linked.detach("n1")
    linked.pass_ms(OVER_MS)
    linked.renew()
    linked.do(Tick())
    assert linked.run(task).outcome is Outcome.LOST


def test_what_the_node_says_after_its_run_was_given_away_is_stopped(linked: Any, ask: Any) -> None:
    _, order = _running(linked, ask, ask.moving())
    linked.attach("n2")
    linked.detach("n1")
    linked.pass_ms(OVER_MS)
    linked.renew()
    linked.do(Tick())
    out = linked.attach("n1", runs=[order])
    (stop,) = ask.sent(out, StopRun, "n1")
    assert (stop.token, stop.outcome) == (order.token, Outcome.SUPERSEDED)
    out = linked.ends("n1", order)
    assert ask.sent(out, AckRun, "n1")
    assert ask.sent(out, RunUpdate) == []


def test_a_node_that_comes_back_with_its_run_keeps_it(linked: Any, ask: Any, spec: Any) -> None:
    task, order = _running(linked, ask, spec)
    linked.detach("n1")
    out = linked.attach("n1", runs=[order])
    assert ask.kinds(out) == ["AgentWelcome"]
    assert linked.run(task).state is RunState.RUNNING


def test_another_life_of_the_keeper_is_proof_of_death(linked: Any, ask: Any, spec: Any) -> None:
    task, order = _running(linked, ask, spec)
    linked.detach("n1")
    (again,) = ask.sent(linked.attach("n1", keeper="k2"), StartRun)
    assert again.token == order.token.next()
    assert linked.run(task).excluded == ()


def test_another_boot_is_proof_of_death(linked: Any, ask: Any, spec: Any) -> None:
    _running(linked, ask, spec)
    linked.detach("n1")
    assert len(ask.sent(linked.attach("n1", boot="b2"), StartRun)) == 1


def test_the_same_keeper_without_the_run_is_asked_and_proves_nothing(
    linked: Any, ask: Any, spec: Any
) -> None:
    task, order = _running(linked, ask, spec)
    linked.detach("n1")
    out = linked.attach("n1")
    assert ask.sent(out, StartRun) == []
    (stop,) = ask.sent(out, StopRun)
    assert stop.token == order.token
    assert linked.run(task).state is RunState.RUNNING
    lost = AgentRunUpdate(
        task=task, token=order.token, state=RunState.ENDED, evidence={"lost": "not here"}
    )
    (again,) = ask.sent(linked.says("n1", lost), StartRun)
    assert again.token == order.token.next()


def test_a_start_that_never_arrived_is_sent_again_under_the_same_token(
    linked: Any, ask: Any, spec: Any
) -> None:
    _, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    linked.detach("n1")
    assert ask.sent(linked.attach("n1"), StartRun) == [order]


def test_a_restarted_region_adopts_what_runs(linked: Any, ask: Any, spec: Any) -> None:
    task, order = _running(linked, ask, spec)
    linked.restart()
    linked.attach_upward()
    out = linked.attach("n1", runs=[order])
    assert ask.sent(out, StartRun) == []
    assert linked.core.nodes["n1"].free_cpu == 3_000
    linked.ends("n1", order)
    assert linked.run(task).outcome is Outcome.SUCCEEDED


def test_a_restarted_region_waits_a_whole_lease_before_it_moves_anything(
    linked: Any, ask: Any
) -> None:
    task, _ = _running(linked, ask, ask.moving())
    linked.pass_ms(60_000)
    linked.restart()
    linked.attach_upward()
    linked.attach("n2")
    linked.pass_ms(OVER_MS - 1)
    linked.renew()
    linked.do(Tick())
    assert linked.run(task).state is RunState.RUNNING
    linked.pass_ms(1)
    assert len(ask.sent(linked.do(Tick()), StartRun, "n2")) == 1


def test_a_restarted_region_knows_the_life_under_which_it_placed(
    linked: Any, ask: Any, spec: Any
) -> None:
    _, order = _running(linked, ask, spec)
    linked.restart()
    linked.attach_upward()
    (again,) = ask.sent(linked.attach("n1", keeper="k2"), StartRun)
    assert again.token == order.token.next()


def test_a_run_that_the_region_does_not_know_is_stopped_on_the_node(
    linked: Any, ask: Any, spec: Any
) -> None:
    _, order = _running(linked, ask, spec)
    linked.rows.clear()
    linked.restart()
    (stop,) = ask.sent(linked.attach("n1", runs=[order]), StopRun)
    assert stop.token == order.token
    (ack,) = ask.sent(linked.attach("n1", runs=[order], state=RunState.ENDED), AckRun)
    assert ack.token == order.token


def test_a_lease_of_a_node_is_no_longer_than_what_the_federation_left(
    region: Any, ask: Any
) -> None:
    region.attach_upward(lease_ms=5_000)
    region.attach("n1")
    (lease,) = ask.sent(region.beat("n1"), AgentLease)
    assert lease.lease_ms == 4_000
    region.pass_ms(4_500)
    (lease,) = ask.sent(region.beat("n1"), AgentLease)
    assert lease.lease_ms == 0


def test_a_lease_counts_from_when_its_renewal_was_sent(region: Any) -> None:
    region.attach_upward(lease_ms=0)
    sent_ns = region.now_ns
    region.pass_ms(3_000)
    region.do(RenewalSent(seq=1, sent_ns=sent_ns))
    region.pass_ms(1_000)
    region.said(LeaseGrant(seq=1, lease_ms=10_000))
    region.do(Tick())
    assert region.core.upward.lease_left_ms() == 10_000 - 4_000 - 1_000


def test_a_grant_for_a_renewal_that_was_never_sent_is_nothing(region: Any) -> None:
    region.attach_upward(lease_ms=0)
    region.said(LeaseGrant(seq=42, lease_ms=10_000))
    assert region.core.upward.lease_left_ms() == 0


def test_messages_of_an_older_stream_of_a_node_are_not_heard(
    linked: Any, ask: Any, spec: Any
) -> None:
    task, order = _running(linked, ask, spec)
    old = linked.links["n1"]
    linked.attach("n1", runs=[order])
    linked.links["n1"] = old
    assert linked.ends("n1", order) == []
    assert linked.run(task).state is RunState.RUNNING


def _killed_at_the_deadline(region: Any, order: StartRun) -> None:
    region.ends("n1", order, exit_code=None, signal=9, evidence={"deadline": "1"})


def test_a_lease_that_ended_while_the_federation_answered_is_the_regions_doing(
    linked: Any, ask: Any
) -> None:
    task, order = _running(linked, ask, ask.moving(), retries=0)
    linked.pass_ms(LEASE_MS)
    linked.renew()
    _killed_at_the_deadline(linked, order)
    assert (linked.run(task).outcome, linked.run(task).cause) == (Outcome.LOST, "region")


def test_a_lease_that_ended_while_the_federation_was_away_is_its_doing_even_if_told_later(
    linked: Any, ask: Any
) -> None:
    tasks = [_running(linked, ask, ask.moving(), retries=0) for _ in range(2)]
    linked.pass_ms(18_000)
    _killed_at_the_deadline(linked, tasks[0][1])
    ended_ms = linked.now.utc_ms
    linked.renew()
    linked.pass_ms(5_000)
    late = AgentRunUpdate(
        task=tasks[1][0],
        token=tasks[1][1].token,
        state=RunState.ENDED,
        ended_ms=ended_ms,
        signal=9,
        evidence={"deadline": "1"},
    )
    linked.says("n1", late)
    assert [linked.run(task).cause for task, _ in tasks] == ["federation", "federation"]


def test_a_run_that_its_node_may_not_run_for_residency_goes_back_as_rejected(
    linked: Any, ask: Any, spec: Any
) -> None:
    task, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    why = {"residency": "US is not in DE", "staging": "US is not in DE"}
    (update,) = ask.sent(linked.ends("n1", order, exit_code=None, evidence=why), RunUpdate)
    assert (update.outcome, update.failure_class) == (Outcome.REJECTED, None)
    assert linked.run(task).state is RunState.ENDED
