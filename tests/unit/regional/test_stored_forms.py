"""What a region stores is read back as it was, also by a version that knows more fields."""

import json
from typing import Any

from intertie.metering.rids import parse_rid
from intertie.model.agentlink import StartRun
from intertie.model.spec import TaskSpec
from intertie.model.states import Outcome
from intertie.model.token import Epoch
from intertie.store.codec import decoder, encode
from regional.domain.runs.run import RegionRun


def test_a_run_survives_its_row_at_every_stage(linked: Any, ask: Any, spec: Any) -> None:
    decode = decoder(RegionRun)
    task, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    stages = [linked.run(task)]
    linked.runs_on("n1", order)
    linked.checkpoint("n1", order, step=3)
    stages.append(linked.run(task))
    linked.sample("n1", order, 1, final=True)
    linked.ends("n1", order, exit_code=1)
    stages.append(linked.run(task))
    for run in stages:
        assert decode(encode(run)) == run
    assert stages[-1].outcome is Outcome.FAILED


def test_fields_of_a_newer_version_are_ignored(linked: Any, spec: Any) -> None:
    task, _ = linked.assign(spec)
    body = json.loads(encode(linked.run(task)))
    body["of_a_later_version"] = 1
    del body["first_started_ms"]
    assert decoder(RegionRun)(json.dumps(body).encode()) == linked.run(task)


def test_runs_of_one_task_are_listed_in_the_order_of_their_epochs(linked: Any, ask: Any) -> None:
    task, out = linked.assign(TaskSpec(run=ask.moving().run))
    first = linked.core.run_of(task)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.ends("n1", order, exit_code=1)
    linked.assign(ask.moving(), task, epoch=Epoch(1, 2))
    assert first.ord < linked.core.run_of(task).ord


def test_pending_usage_is_kept_under_its_rid(linked: Any, ask: Any, spec: Any) -> None:
    _, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.sample("n1", order, 1, final=True)
    linked.ends("n1", order)
    rids = [key for kind, key in linked.rows if kind == "pending"]
    assert {parse_rid(rid).kind for rid in rids} == {"usage", "placement", "run_end"}
