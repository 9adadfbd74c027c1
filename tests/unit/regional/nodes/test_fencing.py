"""What a placement held stays taken until somebody says that it is dead (safety.md, C3)."""

from dataclasses import replace
from typing import Any

import pytest

from intertie.drive.effects import Tick
from intertie.model.agentlink import AckRun, AgentRunUpdate, StartRun, StopRun
from intertie.model.link import CancelRun
from intertie.model.states import Outcome, RunState

GAVE_UP = {"unkillable": "1", "lost": "1"}
LEASE_OVER_MS = 8_000


def _kept(region: Any) -> list[str]:
    return [key for kind, key in region.rows if kind == "unfenced"]


def _free(region: Any, node: str = "n1") -> int:
    free: int = region.core.nodes[node].free_cpu
    return free


@pytest.fixture
def silent(linked: Any, ask: Any) -> tuple[Any, StartRun]:
    """A `move` run whose node was silent until its lease was over; it runs elsewhere now."""
    _, out = linked.assign(ask.moving())
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.attach("n2")
    linked.detach("n1")
    linked.pass_ms(LEASE_OVER_MS)
    linked.renew()
    assert len(ask.sent(linked.do(Tick()), StartRun, "n2")) == 1
    return linked, order


def test_a_move_run_that_its_node_gave_up_killing_goes_on_elsewhere_and_keeps_what_it_held(
    linked: Any, ask: Any
) -> None:
    task, out = linked.assign(ask.moving())
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    before = _free(linked)
    linked.attach("n2")
    out = linked.ends("n1", order, exit_code=None, signal=9, evidence=GAVE_UP)
    assert len(ask.sent(out, StartRun, "n2")) == 1, "the run itself goes on"
    assert linked.run(task).excluded == ("n1",)
    assert _free(linked) == before
    assert len(linked.core.nodes["n1"].held.unfenced) == 1


def test_a_run_that_was_slow_to_die_and_is_dead_holds_nothing(
    linked: Any, ask: Any, spec: Any
) -> None:
    (order,) = ask.sent(linked.assign(spec)[1], StartRun)
    linked.runs_on("n1", order)
    stopping = AgentRunUpdate(
        task=order.task,
        token=order.token,
        state=RunState.RUNNING,
        evidence={"unkillable": "1"},
    )
    linked.says("n1", stopping)
    assert linked.run(order.task).unkillable
    linked.ends("n1", order, exit_code=None, signal=9, evidence={"unkillable": "1"})
    assert _kept(linked) == []
    assert _free(linked) == 4_000


def test_no_restart_of_the_region_forgets_an_unfenced_claim(linked: Any, ask: Any) -> None:
    (order,) = ask.sent(linked.assign(ask.moving())[1], StartRun)
    linked.runs_on("n1", order)
    linked.ends("n1", order, exit_code=None, signal=9, evidence=GAVE_UP)
    before = _free(linked)
    linked.restart()
    linked.attach_upward()
    out = linked.attach("n1")
    assert ask.sent(out, StopRun) == [], "that the node has forgotten it would prove nothing"
    assert _free(linked) == before < 4_000


def test_a_stay_run_that_its_node_gave_up_killing_starts_nowhere_else_until_it_is_dead(
    linked: Any, ask: Any, spec: Any
) -> None:
    task, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.attach("n2")
    for _ in range(2):  # the node says it again on each new link
        out = linked.ends("n1", order, exit_code=None, signal=9, evidence=GAVE_UP)
        assert ask.sent(out, StartRun) == []
        assert ask.sent(out, AckRun) == [], "or the node would forget it"
    run = linked.run(task)
    assert run.is_live
    assert "until it is known to be dead" in run.message
    out = linked.ends("n1", order, exit_code=None, signal=9, evidence={"unkillable": "1"})
    assert ask.sent(out, AckRun)
    assert not linked.run(task).is_live


@pytest.mark.parametrize("boot", ["b1", "b2"])
def test_only_another_boot_proves_that_a_stay_run_which_could_not_be_killed_is_dead(
    linked: Any, ask: Any, spec: Any, boot: str
) -> None:
    task, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.attach("n2")
    linked.ends("n1", order, exit_code=None, signal=9, evidence=GAVE_UP)
    out = linked.attach("n1", keeper="k2", boot=boot)
    assert [start.token > order.token for start in ask.sent(out, StartRun)] == [True] * (
        boot == "b2"
    )
    assert linked.run(task).unkillable is (boot == "b1")


def test_a_cancelled_run_that_could_not_be_killed_ends_for_nobody_starts_it_again(
    linked: Any, ask: Any, spec: Any
) -> None:
    task, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.said(CancelRun(task=task, epoch=order.token.epoch, reason="enough"))
    linked.ends("n1", order, exit_code=None, signal=9, evidence=GAVE_UP)
    assert not linked.run(task).is_live
    assert len(_kept(linked)) == 1


def test_another_keeper_is_no_proof_after_a_failed_kill_but_another_boot_is(
    linked: Any, ask: Any
) -> None:
    (order,) = ask.sent(linked.assign(ask.moving())[1], StartRun)
    linked.runs_on("n1", order)
    linked.ends("n1", order, exit_code=None, signal=9, evidence=GAVE_UP)
    linked.attach("n1", keeper="k2")
    assert len(_kept(linked)) == 1
    linked.attach("n1", keeper="k3", boot="b2")
    assert _kept(linked) == []
    assert _free(linked) == 4_000


def test_a_death_that_is_reported_late_ends_the_claim(linked: Any, ask: Any) -> None:
    (order,) = ask.sent(linked.assign(ask.moving())[1], StartRun)
    linked.runs_on("n1", order)
    linked.ends("n1", order, exit_code=None, signal=9, evidence=GAVE_UP)
    linked.ends("n1", order, exit_code=None, signal=9)
    assert _kept(linked) == []


def test_a_silent_node_keeps_its_claim_until_it_says_that_the_run_is_dead(
    silent: tuple[Any, StartRun], ask: Any
) -> None:
    region, order = silent
    assert len(_kept(region)) == 1
    (stop,) = ask.sent(region.attach("n1", runs=[order]), StopRun, "n1")
    assert stop.outcome is Outcome.SUPERSEDED
    assert _free(region) < 4_000
    region.ends("n1", order, exit_code=None, signal=9)
    assert _free(region) == 4_000
    assert _kept(region) == []


def test_a_node_that_does_not_list_the_run_is_asked(silent: tuple[Any, StartRun], ask: Any) -> None:
    region, order = silent
    (stop,) = ask.sent(region.attach("n1"), StopRun, "n1")
    assert (stop.task, stop.token) == (order.task, order.token)
    assert _free(region) < 4_000
    region.ends("n1", order, exit_code=None, evidence={"lost": "1"})
    assert _free(region) == 4_000


def test_a_node_whose_keeper_began_anew_without_the_run_is_fenced(
    silent: tuple[Any, StartRun],
) -> None:
    region, _ = silent
    region.attach("n1", keeper="k2")
    assert _free(region) == 4_000
    assert _kept(region) == []


def test_a_silent_node_that_turns_out_to_have_given_up_stays_unfenced(
    silent: tuple[Any, StartRun], ask: Any
) -> None:
    region, order = silent
    region.attach("n1", keeper="k2", runs=[order])
    region.ends("n1", order, exit_code=None, signal=9, evidence=GAVE_UP)
    region.attach("n1", keeper="k3")
    assert len(_kept(region)) == 1
    assert _free(region) < 4_000


def test_devices_of_an_unfenced_claim_are_given_to_nobody(linked: Any, ask: Any) -> None:
    capability = replace(linked.core.nodes["n1"].hello.capability, devices=ask.devices(1))
    linked.attach("n1", capability=capability)
    spec = ask.on_devices(1)
    (order,) = ask.sent(linked.assign(spec, retries=0)[1], StartRun)
    linked.runs_on("n1", order)
    linked.ends("n1", order, exit_code=None, signal=9, evidence=GAVE_UP)
    assert linked.core.nodes["n1"].free_devices() == []
    task, out = linked.assign(spec)
    assert ask.sent(out, StartRun) == []
    assert linked.run(task).state is RunState.QUEUED
