"""The mirror and witness over real calls: pushed, cosigned, pulled, proven, billed."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from federation.app import Application
from intertie.api.federation.v1 import task_service_pb2
from intertie.api.metering.v1 import metering_service_pb2 as pb
from intertie.api.metering.v1.metering_service_pb2_grpc import MeteringServiceStub
from intertie.errors import IntertieError, Reason
from intertie.metering import records
from intertie.metering.dsse import StatementKey, open_envelope
from intertie.metering.grant import SignedGrant, parse_grant, verify_grant
from intertie.metering.log.checkpoint import Checkpoint, add_lines, sign
from intertie.metering.log.merkle import (
    CompactRange,
    consistency_proof,
    leaf_hash,
    nodes_of,
)
from intertie.metering.log.note import Note, Signer
from intertie.metering.log.receipt import check_receipt
from intertie.metering.log.trust import open_checkpoint, parse_trust
from intertie.metering.log.witness import SIZE_TYPE, build_request
from intertie.metering.records import RunKey, Span
from intertie.testing.fake_region import FakeRegion
from intertie.testing.waiting import eventually

ORIGIN = "intertie.example/region/eu/metering"
Refusal = Callable[[Any], Awaitable[IntertieError]]
WITHIN_S = 10.0
HOUR_MS = 3_600_000


@dataclass
class Log:
    """A region's log in memory, signed with a real key."""

    signer: Signer = field(default_factory=lambda: Signer.from_seed(ORIGIN, b"\7" * 32))
    leaves: list[bytes] = field(default_factory=list)

    def add(self, *bodies: records.Body) -> None:
        for body in bodies:
            seq = len(self.leaves)
            salt = f"{seq:032x}"
            self.leaves.append(records.seal(dict(body), seq=seq, recorded_ms=HOUR_MS, salt=salt))

    def add_heartbeats(self, count: int) -> None:
        done = len(self.leaves)
        self.add(*(records.heartbeat("eu", done + n) for n in range(1, count + 1)))

    def hashes(self, size: int) -> list[bytes]:
        return [leaf_hash(leaf) for leaf in self.leaves[:size]]

    def signed(self, size: int | None = None) -> bytes:
        size = len(self.leaves) if size is None else size
        root = CompactRange().extend(self.hashes(size)).root()
        return sign(Checkpoint(ORIGIN, size, root), self.signer)

    def request(self, old: int, size: int | None = None) -> bytes:
        size = len(self.leaves) if size is None else size
        proof = consistency_proof(nodes_of(self.hashes(size)), old, size)
        return build_request(old, proof, self.signed(size))


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
async def eu(place: Any, replica: Application, log: Log) -> FakeRegion:
    """A region that has told its log key."""
    region: FakeRegion = place.region(replica.address, log_vkey=log.signer.key.vkey)
    await region.attach()
    return region


@pytest.fixture
def scheduler(place: Any, replica: Application, eu: FakeRegion) -> Any:
    return MeteringServiceStub(place.channel(replica.address, "eu:scheduler"))


def reader(place: Any, replica: Application, identity: str = "billing/bob") -> Any:
    return MeteringServiceStub(place.channel(replica.address, identity))


async def push(scheduler: Any, log: Log, start: int = 0, end: int | None = None) -> int:
    entries = log.leaves[start:end]
    request = pb.PushEntriesRequest(origin=ORIGIN, start=start, entries=entries)
    return int((await scheduler.PushEntries(request)).mirrored_size)


async def cosign(scheduler: Any, body: bytes) -> Any:
    return await scheduler.AddLogCheckpoint(pb.AddLogCheckpointRequest(body=body))


async def pull(stub: Any, start: int = 0, end: int = 0) -> tuple[list[bytes], list[bytes]]:
    request = pb.PullEntriesRequest(origin=ORIGIN, start=start, end=end)
    entries: list[bytes] = []
    hashes: list[bytes] = []
    async for response in stub.PullEntries(request):
        assert response.start == start + len(entries)
        entries += response.entries
        hashes += response.hashes
    return entries, hashes


async def published(stub: Any) -> Sequence[bytes]:
    response = await stub.GetLogCheckpoint(pb.GetLogCheckpointRequest(origin=ORIGIN))
    return list(response.notes)


async def test_a_log_is_cosigned_and_read_by_billing_as_it_was_written(
    place: Any, replica: Application, scheduler: Any, log: Log
) -> None:
    log.add_heartbeats(700)
    assert await push(scheduler, log) == 700
    billing = reader(place, replica)
    assert await published(billing) == []
    answer = await cosign(scheduler, log.request(0))
    assert (answer.status, answer.content_type) == (200, "text/plain; charset=utf-8")
    note = add_lines(log.signed(), answer.body)
    assert await published(billing) == [note]
    trust = parse_trust((await billing.GetTrustFile(pb.GetTrustFileRequest())).trust.decode())
    assert open_checkpoint(note, trust).checkpoint.size == 700
    entries, _ = await pull(billing)
    assert entries == log.leaves
    assert (await pull(billing, 690, 695))[0] == log.leaves[690:695]


async def test_a_log_that_grows_is_proven_consistent_each_time(scheduler: Any, log: Log) -> None:
    size = 0
    for step in (1, 7, 250, 3, 600):
        log.add_heartbeats(step)
        await push(scheduler, log, size)
        answer = await cosign(scheduler, log.request(size))
        assert answer.status == 200, answer.body
        size = len(log.leaves)
    known = await scheduler.GetWitnessed(pb.GetWitnessedRequest(origin=ORIGIN))
    assert known.mirrored_size == size
    assert Checkpoint.parse(Note.parse(known.note).text).size == size


async def test_a_checkpoint_from_another_size_is_told_the_latest(scheduler: Any, log: Log) -> None:
    log.add_heartbeats(5)
    await cosign(scheduler, log.request(0))
    log.add_heartbeats(5)
    answer = await cosign(scheduler, log.request(3))
    assert (answer.status, answer.content_type, answer.body) == (409, SIZE_TYPE, b"5\n")


def alarms(replica: Application) -> float:
    labels = {"kind": "log_fork"}
    return replica.metrics.registry.get_sample_value("intertie_alarms_total", labels) or 0.0


async def test_a_second_history_is_never_cosigned(
    replica: Application, scheduler: Any, log: Log
) -> None:
    log.add_heartbeats(5)
    await cosign(scheduler, log.request(0))
    other = Log()
    other.add(*(records.heartbeat("eu", n) for n in range(10, 19)))
    assert alarms(replica) == 0
    assert (await cosign(scheduler, other.request(5))).status == 422
    assert alarms(replica) == 1


async def test_what_is_no_request_or_badly_signed_is_refused_by_status(
    scheduler: Any, log: Log
) -> None:
    log.add_heartbeats(2)
    assert (await cosign(scheduler, b"nonsense")).status == 400
    stranger = Log(Signer.from_seed(ORIGIN, b"\x09" * 32), log.leaves)
    assert (await cosign(scheduler, stranger.request(0))).status == 403


async def test_pushing_again_changes_nothing_and_a_gap_is_refused(
    scheduler: Any, log: Log, refusal: Refusal
) -> None:
    log.add_heartbeats(10)
    assert await push(scheduler, log, 0, 6) == 6
    assert await push(scheduler, log, 0, 6) == 6
    assert await push(scheduler, log, 3) == 10
    gap = pb.PushEntriesRequest(origin=ORIGIN, start=12, entries=[b"x"])
    refused = await refusal(scheduler.PushEntries(gap))
    assert refused.reason is Reason.OFFSET_MISMATCH
    assert refused.metadata["expected_offset"] == "10"


async def test_entries_that_were_cosigned_cannot_be_replaced(
    replica: Application, scheduler: Any, log: Log, refusal: Refusal
) -> None:
    log.add_heartbeats(10)
    await push(scheduler, log)
    await cosign(scheduler, log.request(0))
    forged = pb.PushEntriesRequest(origin=ORIGIN, start=4, entries=[b"forged"])
    assert (await refusal(scheduler.PushEntries(forged))).reason is Reason.LOG_FORK
    assert alarms(replica) == 1


async def test_entries_that_no_checkpoint_covers_may_be_replaced(
    place: Any, replica: Application, scheduler: Any, log: Log
) -> None:
    log.add_heartbeats(10)
    await push(scheduler, log)
    await cosign(scheduler, log.request(0))
    lost = Log(log.signer, list(log.leaves))
    lost.add(*(records.heartbeat("eu", n) for n in range(500, 620)))
    await push(scheduler, lost, 10)
    log.add_heartbeats(30)
    assert await push(scheduler, log, 10) == 40
    assert (await cosign(scheduler, log.request(10))).status == 200
    assert (await pull(reader(place, replica)))[0] == log.leaves


async def test_a_checkpoint_over_entries_that_differ_from_the_mirror_drops_them(
    place: Any, replica: Application, scheduler: Any, log: Log, refusal: Refusal
) -> None:
    log.add_heartbeats(10)
    await push(scheduler, log)
    await cosign(scheduler, log.request(0))
    junk = [b"never a leaf"] * 20
    await scheduler.PushEntries(pb.PushEntriesRequest(origin=ORIGIN, start=10, entries=junk))
    log.add_heartbeats(5)
    assert (await cosign(scheduler, log.request(10))).status == 200
    billing = reader(place, replica)
    assert Checkpoint.parse(Note.parse((await published(billing))[0]).text).size == 10
    assert await push(scheduler, log, 10) == 15
    assert Checkpoint.parse(Note.parse((await published(billing))[0]).text).size == 15


async def test_entries_that_do_not_hash_to_what_was_cosigned_are_not_mirrored(
    scheduler: Any, log: Log, refusal: Refusal
) -> None:
    log.add_heartbeats(5)
    await cosign(scheduler, log.request(0))
    wrong = pb.PushEntriesRequest(origin=ORIGIN, start=0, entries=[b"x"] * 5)
    assert (await refusal(scheduler.PushEntries(wrong))).reason is Reason.LOG_FORK
    assert await push(scheduler, log) == 5


async def test_the_mirror_and_the_witness_survive_a_restart(
    place: Any, replica: Application, scheduler: Any, log: Log
) -> None:
    log.add_heartbeats(300)
    await push(scheduler, log)
    first = await cosign(scheduler, log.request(0))
    note = add_lines(log.signed(), first.body)
    await replica.stop()
    again = await place.start()
    stub = reader(place, again, "eu:scheduler")
    known = await stub.GetWitnessed(pb.GetWitnessedRequest(origin=ORIGIN))
    assert (known.note, known.mirrored_size) == (note, 300)
    log.add_heartbeats(300)
    await push(stub, log, 300)
    assert (await cosign(stub, log.request(300))).status == 200
    assert (await pull(reader(place, again)))[0] == log.leaves


async def test_a_region_with_another_log_key_is_refused(
    place: Any, replica: Application, eu: FakeRegion
) -> None:
    await eu.detach()
    other = Signer.from_seed(ORIGIN, b"\5" * 32)
    eu.log_vkey = other.key.vkey
    with pytest.raises(Exception, match="another log key"):
        await eu.attach()


# --- who may see what -----------------------------------------------------------------------------


def usage(project: str, interval: int, *, grant: str = "") -> records.Body:
    key = RunKey(
        region="eu",
        project=project,
        payer=project,
        principal="p-1",
        task="01-00000000-0000-7000-8000-000000000000",
        run="1-1.1",
        rank=0,
        node="n1",
        grant_sha256=grant or "a" * 64,
    )
    span = Span(interval * 1_000, interval * 1_000 + 1_000, 1_000)
    return records.usage(key, span, meter="cpu.held_core_ms", interval=interval, quantity=1_000)


async def test_a_project_sees_its_own_records_and_only_hashes_of_others(
    place: Any, replica: Application, scheduler: Any, log: Log, refusal: Refusal
) -> None:
    log.add(usage("demo", 1), usage("other", 2), records.heartbeat("eu", 1))
    await push(scheduler, log)
    answer = await cosign(scheduler, log.request(0))
    note = add_lines(log.signed(), answer.body)
    demo = reader(place, replica, "project/demo/ann")
    entries, hashes = await pull(demo)
    assert entries == [log.leaves[0], b"", log.leaves[2]]
    assert hashes == [b"", leaf_hash(log.leaves[1]), b""]
    receipt = (await demo.GetReceipt(pb.GetReceiptRequest(origin=ORIGIN, seq=0))).receipt
    trust = parse_trust((await demo.GetTrustFile(pb.GetTrustFileRequest())).trust.decode())
    checked = check_receipt(receipt, trust)
    assert (checked.record, checked.index) == (log.leaves[0], 0)
    assert checked.opened.signed == note
    refused = await refusal(demo.GetReceipt(pb.GetReceiptRequest(origin=ORIGIN, seq=1)))
    assert refused.reason is Reason.PERMISSION_DENIED
    early = await refusal(demo.GetReceipt(pb.GetReceiptRequest(origin=ORIGIN, seq=3)))
    assert early.reason is Reason.NOT_COSIGNED


async def test_a_project_with_a_regions_name_sees_nothing_of_the_regions_own_work(
    place: Any, replica: Application, scheduler: Any, log: Log, refusal: Refusal
) -> None:
    log.add(usage("eu", 1))
    await push(scheduler, log)
    await cosign(scheduler, log.request(0))
    namesake = reader(place, replica, "project/eu/ann")
    assert await pull(namesake) == ([b""], [leaf_hash(log.leaves[0])])
    refused = await refusal(namesake.GetStatement(pb.GetStatementRequest()))
    assert refused.reason is Reason.PERMISSION_DENIED
    assert "name of the region" in refused.message


async def test_a_region_touches_its_own_log_only(
    place: Any, replica: Application, eu: FakeRegion, log: Log, refusal: Refusal
) -> None:
    log.add_heartbeats(1)
    us = reader(place, replica, "us:scheduler")
    calls = [
        us.PushEntries(pb.PushEntriesRequest(origin=ORIGIN, entries=log.leaves)),
        us.AddLogCheckpoint(pb.AddLogCheckpointRequest(body=log.request(0))),
        us.GetWitnessed(pb.GetWitnessedRequest(origin=ORIGIN)),
        us.PullEntries(pb.PullEntriesRequest(origin=ORIGIN)),
        reader(place, replica, "us:operator/joe").GetLogCheckpoint(
            pb.GetLogCheckpointRequest(origin=ORIGIN)
        ),
    ]
    for call in calls:
        assert (await refusal(call)).reason is Reason.PERMISSION_DENIED


async def test_grants_are_handed_to_billing_and_to_their_own_project_only(
    place: Any, replica: Application, eu: FakeRegion, create: Any, refusal: Refusal
) -> None:
    tasks = place.tasks(replica.address)
    made = await tasks.CreateTask(create())

    async def granted() -> str:
        task = await tasks.GetTask(task_service_pb2.GetTaskRequest(name=made.name))
        return str(task.runs[0].grant_sha256) if task.runs else ""

    cited = await eventually(granted, WITHIN_S)
    billing = reader(place, replica)
    keys = (await billing.GetTrustFile(pb.GetTrustFileRequest())).grant_keys.decode()
    public = bytes.fromhex(keys.splitlines()[-1].removeprefix("grant-key "))
    request = pb.GetGrantsRequest(sha256=["0" * 64, cited, cited])
    for who in ("billing/bob", "project/demo/ann"):
        (got,) = (await reader(place, replica, who).GetGrants(request)).grants
        signed = SignedGrant(got.grant, got.index, tuple(got.proof), got.envelope)
        grant = verify_grant(signed, [StatementKey(public)])
        assert (grant.sha256, grant.task) == (cited, made.name.rpartition("/")[2])
    other = reader(place, replica, "project/other/bob")
    assert not (await other.GetGrants(request)).grants
    for bad, reason in (
        (["0" * 63], Reason.INVALID_FIELD),
        (["0" * 64] * 1_001, Reason.TOO_LARGE),
    ):
        refused = await refusal(billing.GetGrants(pb.GetGrantsRequest(sha256=bad)))
        assert refused.reason is reason


@dataclass
class Granted:
    """A task with its grant, and records that cite it."""

    task: str
    sha256: str

    def usage(self, interval: int, **changes: Any) -> records.Body:
        body = usage("demo", interval, grant=self.sha256) | {"task": self.task} | changes
        name = f"{body['task']}/{body['run']}/0/{interval}"
        return body | {"rid": f"{name}/{body['meter']}"}


@pytest.fixture
async def granted(place: Any, replica: Application, eu: FakeRegion, create: Any) -> Granted:
    tasks = place.tasks(replica.address)
    made = await tasks.CreateTask(create())

    async def cited() -> str:
        task = await tasks.GetTask(task_service_pb2.GetTaskRequest(name=made.name))
        return str(task.runs[0].grant_sha256) if task.runs else ""

    return Granted(made.name.rpartition("/")[2], await eventually(cited, WITHIN_S))


async def stated(place: Any, replica: Application, payer: str = "demo") -> dict[str, Any]:
    billing = reader(place, replica)
    answer = await billing.GetStatement(pb.GetStatementRequest(payer=payer))
    public = bytes.fromhex((place.state / "keys" / "grant.pub").read_text().strip())
    kind = "application/vnd.intertie.statement+json"
    payload = open_envelope(answer.envelope, kind, [StatementKey(public)])
    assert payload == answer.statement
    statement: dict[str, Any] = json.loads(payload)
    return statement


async def test_a_statement_bills_what_was_granted_and_counts_the_rest_apart(
    place: Any, replica: Application, scheduler: Any, log: Log, granted: Granted
) -> None:
    log.add(granted.usage(1), usage("demo", 2))
    await push(scheduler, log)
    await cosign(scheduler, log.request(0))
    statement = await stated(place, replica)
    assert statement["unpriced_records"] == 1
    assert statement["refused_records"] == {"no_grant": 1}
    assert [line["quantity"] for line in statement["lines"]] == [1_000]
    assert statement["logs"] == {ORIGIN: 2}


async def test_each_record_is_compared_with_its_own_grant_also_after_one_that_fitted(
    place: Any, replica: Application, scheduler: Any, log: Log, granted: Granted
) -> None:
    elsewhere = f"ff{granted.task[2:]}"  # cited before the honest record, from another shard
    log.add(
        granted.usage(9, task=elsewhere),
        granted.usage(1),
        granted.usage(2, run="1-2.0"),
        granted.usage(3, project="other"),
        granted.usage(4, region="us"),
        granted.usage(5, task=f"{granted.task[:-1]}x"),
        granted.usage(6, task="no-task-of-ours"),
        granted.usage(7, meter="energy.used_mj"),
        granted.usage(8, meter="net.egress_bytes"),
    )
    log.add({k: v for k, v in granted.usage(10).items() if k != "grant_sha256"})
    await push(scheduler, log)
    await cosign(scheduler, log.request(0))
    statement = await stated(place, replica)
    assert [line["quantity"] for line in statement["lines"]] == [1_000]
    assert statement["refused_records"] == {
        "meter_not_granted": 1,
        "no_grant": 3,
        "other_epoch": 1,
        "other_log": 1,
        "other_project": 1,
        "other_task": 1,
    }


async def test_no_more_than_the_cap_of_a_grant_is_stated(
    place: Any, replica: Application, scheduler: Any, log: Log, granted: Granted
) -> None:
    (got,) = (
        await reader(place, replica).GetGrants(pb.GetGrantsRequest(sha256=[granted.sha256]))
    ).grants
    cap = parse_grant(got.grant).maximum["cpu.held_core_ms"]
    log.add(granted.usage(1, quantity=cap - 5), granted.usage(2, quantity=12))
    await push(scheduler, log)
    await cosign(scheduler, log.request(0))
    statement = await stated(place, replica)
    assert [line["quantity"] for line in statement["lines"]] == [cap]
    assert statement["over_grant"] == {"cpu.held_core_ms": 7}


async def test_a_leaf_that_is_no_record_stops_no_statement(
    place: Any, replica: Application, scheduler: Any, log: Log, granted: Granted
) -> None:
    log.leaves += [
        b'{"payer":"demo"}',
        b'junk "payer":"demo" junk',
        b'{"kind":"usage","payer":"demo","seq":"x","type":"intertie.usage/v1"}',
    ]
    log.add(granted.usage(1))
    await push(scheduler, log)
    await cosign(scheduler, log.request(0))
    statement = await stated(place, replica)
    assert statement["unreadable_records"] == {ORIGIN: 3}
    assert [line["quantity"] for line in statement["lines"]] == [1_000]


async def test_a_payer_who_used_nothing_gets_a_statement_without_a_total(
    place: Any, replica: Application, scheduler: Any, log: Log
) -> None:
    statement = await stated(place, replica, "nobody")
    assert (statement["lines"], statement["totals"]) == ([], [])
