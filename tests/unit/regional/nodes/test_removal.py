"""A node that an operator declares dead: its runs are free, and its return starts nothing twice."""

from typing import Any

import pytest

from intertie.drive.effects import Fail, Reply, Tick
from intertie.errors import Reason
from intertie.model.agentlink import AckRun, StartRun, StopRun
from intertie.model.pool import NodeCapability
from intertie.model.states import RunState
from intertie.store.codec import decoder, encode
from regional.domain.events import RemoveNode
from regional.domain.nodes.removal import Removed

GAVE_UP = {"unkillable": "1", "lost": "1"}
LONG_MS = 80_000


def remove(region: Any, node: str = "n1") -> list[object]:
    event = RemoveNode(
        ticket=77, node=node, reason="it burnt down", request_id="r", request_digest="d"
    )
    return list(region.do(event))


def _rows(region: Any, kind: str) -> list[Any]:
    return [value for (k, _), value in region.rows.items() if k == kind]


def _facts(region: Any) -> list[dict[str, Any]]:
    return [fact for fact in region.facts if fact.get("node") == "n1" and "life" in fact]


@pytest.fixture
def capability(ask: Any) -> NodeCapability:
    return NodeCapability(
        cpu=4_000, memory=8 << 30, disk=64 << 30, architecture="x86_64", devices=ask.devices(1)
    )


@pytest.fixture
def removed(region: Any, ask: Any, capability: NodeCapability) -> tuple[Any, StartRun]:
    """A `stay` run with the only device of its node, which was declared dead; no other is there."""
    region.attach_upward()
    region.attach("n1", capability=capability)
    (order,) = ask.sent(region.assign(ask.on_devices(1))[1], StartRun)
    region.runs_on("n1", order)
    region.detach("n1")
    region.pass_ms(LONG_MS)
    region.renew()
    remove(region)
    return region, order


def test_a_node_that_an_operator_declares_dead_frees_its_stay_runs(
    linked: Any, ask: Any, spec: Any
) -> None:
    task, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.attach("n2")
    linked.detach("n1")
    linked.pass_ms(LONG_MS)
    linked.renew()
    assert ask.sent(linked.do(Tick()), StartRun) == [], "silence alone moves no stay run"
    out = remove(linked)
    assert [e.value for e in out if isinstance(e, Reply)] == [1]
    (again,) = ask.sent(out, StartRun, "n2")
    assert again.token > order.token
    assert linked.run(task).excluded == ("n1",)


def test_what_a_removed_node_still_runs_is_stopped_and_holds_its_devices_until_it_is_dead(
    removed: tuple[Any, StartRun], ask: Any, capability: NodeCapability
) -> None:
    region, order = removed
    waiting, _ = region.assign(ask.on_devices(1))
    out = region.attach("n1", capability=capability, runs=[order])
    assert [stop.token for stop in ask.sent(out, StopRun, "n1")] == [order.token]
    assert ask.sent(out, StartRun) == [], "no new work beside what it still has"
    assert region.core.nodes["n1"].free_devices() == []
    assert region.run(waiting).state is RunState.QUEUED
    out = region.ends("n1", order, exit_code=None, signal=9)
    assert [start.task for start in ask.sent(out, StartRun, "n1")] == [waiting]
    assert _rows(region, "removed") == _rows(region, "unfenced") == []


def test_a_removed_node_that_does_not_list_its_run_is_asked_after_it_first(
    removed: tuple[Any, StartRun], ask: Any, capability: NodeCapability
) -> None:
    region, order = removed
    region.assign(ask.on_devices(1))
    out = region.attach("n1", capability=capability)
    assert [stop.token for stop in ask.sent(out, StopRun, "n1")] == [order.token]
    assert ask.sent(out, StartRun) == []
    out = region.ends("n1", order, exit_code=None, evidence={"lost": "1"})
    assert len(ask.sent(out, StartRun, "n1")) == 1


@pytest.mark.parametrize("anew", [{"boot": "b2"}, {"keeper": "k2"}])
def test_a_removed_node_that_began_anew_is_a_node_like_any_other(
    removed: tuple[Any, StartRun], ask: Any, capability: NodeCapability, anew: dict[str, str]
) -> None:
    region, _ = removed
    region.assign(ask.on_devices(1))
    out = region.attach("n1", capability=capability, **anew)
    assert len(ask.sent(out, StartRun, "n1")) == 1
    assert _rows(region, "removed") == _rows(region, "unfenced") == []


def test_a_removed_node_that_could_not_kill_its_run_gets_no_work_until_it_began_anew(
    removed: tuple[Any, StartRun], ask: Any, capability: NodeCapability, spec: Any
) -> None:
    region, order = removed
    region.assign(spec)
    region.attach("n1", capability=capability, runs=[order])
    out = region.ends("n1", order, exit_code=None, signal=9, evidence=GAVE_UP)
    assert ask.sent(out, AckRun) == [], "or the node would forget it"
    out = region.attach("n1", capability=capability, keeper="k2")
    assert ask.sent(out, StartRun) == [], "another keeper proves nothing after a failed kill"
    out = region.attach("n1", capability=capability, keeper="k3", boot="b2")
    assert len(ask.sent(out, StartRun, "n1")) == 1


def test_a_run_of_a_removed_node_that_the_region_does_not_know_is_waited_for_as_well(
    linked: Any, ask: Any, spec: Any
) -> None:
    (order,) = ask.sent(linked.assign(spec)[1], StartRun)
    linked.runs_on("n1", order)
    linked.ends("n1", order)
    linked.detach("n1")
    remove(linked)
    linked.assign(spec)
    out = linked.attach("n1", runs=[order])
    assert ask.sent(out, StartRun) == []
    assert len(ask.sent(out, StopRun, "n1")) == 1
    assert len(ask.sent(linked.ends("n1", order), StartRun, "n1")) == 1


def test_no_restart_of_the_region_forgets_that_a_node_was_removed(
    removed: tuple[Any, StartRun], ask: Any, capability: NodeCapability
) -> None:
    region, order = removed
    (row,) = _rows(region, "removed")
    assert decoder(Removed)(encode(row)) == row
    assert (row.node, row.life, row.reason) == ("n1", "b1/k1", "it burnt down")
    region.restart()
    region.attach_upward()
    region.assign(ask.on_devices(1))
    assert ask.sent(region.attach("n1", capability=capability, runs=[order]), StartRun) == []
    assert len(ask.sent(region.ends("n1", order, exit_code=None, signal=9), StartRun)) == 1


def test_each_removal_and_each_return_is_in_the_audit_chain_also_without_runs(linked: Any) -> None:
    linked.detach("n1")
    remove(linked)
    assert _facts(linked) == [
        {"node": "n1", "removed": "it burnt down", "life": "b1/k1", "runs": 0}
    ]
    linked.attach("n1", boot="b2")
    assert _facts(linked)[1:] == [{"node": "n1", "back": "b2/k1", "life": "b1/k1"}]


def test_a_node_that_was_removed_before_may_be_removed_again(
    removed: tuple[Any, StartRun],
) -> None:
    region, _ = removed
    assert [e.value for e in remove(region) if isinstance(e, Reply)] == [0]
    assert len(_rows(region, "unfenced")) == 1, "what it may still run is not forgotten"


def test_a_node_that_is_attached_or_unknown_is_not_declared_dead(linked: Any) -> None:
    reasons = [
        effect.error.reason
        for node in ("n1", "n9")
        for effect in remove(linked, node)
        if isinstance(effect, Fail)
    ]
    assert reasons == [Reason.WRONG_STATE, Reason.NOT_FOUND]
