"""A region and the federation's residency policy: the newest it knows holds, and it re-checks."""

from dataclasses import replace
from typing import Any

from intertie.model.agentlink import StartRun
from intertie.model.link import AssignAck, Offer, OfferRequest, RunUpdate
from intertie.model.pool import Shape
from intertie.model.spec import DataItem, Residency
from intertie.model.states import Outcome
from intertie.residency import NO_POLICY, Policy, TransferRule, Zone
from intertie.residency.reading import decode_policy
from intertie.store.codec import decoder, encode
from regional.domain.events import PolicyHeard
from regional.domain.residence import ONLY, POLICY, KnownPolicy

EU = Policy(zones=(Zone("EU", ("DE", "FR")),), data_classes=(("personal", ""),))
WITHOUT_DE = Policy(zones=(Zone("EU", ("FR",)),))
BOUND = Residency(within=("EU",))


def test_a_zone_holds_once_the_region_knows_the_policy(linked: Any, ask: Any, spec: Any) -> None:
    bound = replace(spec, residency=BOUND)
    _, out = linked.assign(bound)
    (ack,) = ask.sent(out, AssignAck)
    assert (ack.accepted, ack.reason) == (False, "RESIDENCY_VIOLATION")
    linked.do(PolicyHeard(revision=1, policy=EU))
    _, out = linked.assign(bound)
    assert [ack.accepted for ack in ask.sent(out, AssignAck)] == [True]
    (order,) = ask.sent(out, StartRun)
    assert order.within == ("DE", "FR"), "an agent knows paths, not zones"


def test_the_region_refuses_what_its_newer_policy_denies_and_names_the_rule(
    linked: Any, ask: Any, spec: Any
) -> None:
    linked.do(PolicyHeard(revision=2, policy=WITHOUT_DE))
    linked.do(PolicyHeard(revision=1, policy=EU))
    _, out = linked.assign(replace(spec, residency=BOUND))
    (ack,) = ask.sent(out, AssignAck)
    assert ack.reason == "RESIDENCY_VIOLATION"
    assert ack.message.startswith("within EU: DE/DE-HE/fra1 is not within EU")


def test_a_placement_record_cites_the_policy_and_the_rule(linked: Any, spec: Any) -> None:
    linked.do(PolicyHeard(revision=1, policy=EU))
    linked.assign(replace(spec, residency=BOUND))
    (record,) = linked.records("placement")
    assert record["policy_sha256"] == EU.sha256
    assert record["verdict"] == "allowed: within EU"
    assert record["jurisdiction"] == "DE/DE-HE/fra1"


def test_without_a_policy_a_placement_cites_none(linked: Any, spec: Any) -> None:
    linked.assign(spec)
    (record,) = linked.records("placement")
    assert (record["policy_sha256"], record["verdict"]) == (NO_POLICY, "allowed: any")


def test_what_waits_is_sent_back_and_what_runs_goes_on_when_the_policy_forbids_it(
    linked: Any, ask: Any, spec: Any
) -> None:
    linked.do(PolicyHeard(revision=1, policy=EU))
    bound = replace(spec, residency=BOUND)
    running, out = linked.assign(bound)
    assert ask.sent(out, StartRun)
    tasks = [linked.assign(bound) for _ in range(8)]
    waiting = [task for task, out in tasks if not ask.sent(out, StartRun)]
    assert waiting
    out = linked.do(PolicyHeard(revision=2, policy=WITHOUT_DE))
    updates = {update.task: update for update in ask.sent(out, RunUpdate)}
    assert {update.outcome for update in updates.values()} == {Outcome.REJECTED}
    assert set(updates) == set(waiting)
    assert "within EU" in updates[waiting[0]].message
    assert linked.run(running).is_live


def test_data_comes_only_by_a_transfer_rule(linked: Any, ask: Any, spec: Any) -> None:
    rule = TransferRule(name="eu", data_classes=("personal",), source=("EU",), to=("EU",))
    linked.do(PolicyHeard(revision=1, policy=replace(EU, rules=(rule,))))

    def answer(place: str) -> tuple[bool, str]:
        items = (DataItem(name="d", at=(place,)),)
        wanted = replace(spec, residency=Residency(data_class="personal"), data=items)
        (ack,) = ask.sent(linked.assign(wanted)[1], AssignAck)
        return ack.accepted, ack.message

    assert answer("FR") == (True, "")
    assert answer("US")[1].startswith("no transfer rule: input d: personal data may not move")
    assert answer("eu")[0], "a copy at this very region"
    assert not answer("elsewhere")[0]


def test_an_offer_is_judged_by_zones_too(linked: Any, ask: Any) -> None:
    linked.do(PolicyHeard(revision=1, policy=WITHOUT_DE))
    shape = Shape(cpu=1_000, memory=1 << 30, disk=1 << 30)
    request = OfferRequest(id="o1", shapes=(shape,), count=1, hold_ms=0, within=("EU",))
    (offer,) = ask.sent(linked.said(request), Offer)
    assert offer.refusal.startswith("residency")


def test_the_newest_policy_survives_its_row(linked: Any) -> None:
    linked.do(PolicyHeard(revision=3, policy=EU))
    row = linked.rows[POLICY, ONLY]
    back = decoder(KnownPolicy)(encode(row))
    assert (back.revision, decode_policy(back.body)) == (3, EU)
