"""The residency policy over a real replica: set, followed, cited, and enforced on reads."""

from pathlib import Path
from typing import Any

import pytest

from federation.app import Application
from intertie.api.federation.v1 import policy_service_pb2 as pb
from intertie.api.federation.v1 import task_service_pb2
from intertie.api.federation.v1.policy_service_pb2_grpc import PolicyServiceStub
from intertie.errors import Reason
from intertie.metering.grant import parse_grant
from intertie.model.link import Assign, PolicyUpdate
from intertie.model.spec import Residency
from intertie.residency import NO_POLICY, Policy, Zone
from intertie.sdk.policy.file import load_policy
from intertie.testing.waiting import eventually

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "policy.yaml"
EU = Policy(zones=(Zone("EU", ("DE", "FR")),), data_classes=(("personal", "of people"),))
ONLY_FR = Policy(zones=(Zone("EU", ("FR",)),))
WITHIN_S = 10.0


@pytest.fixture
def policies(place: Any, replica: Application) -> Any:
    return PolicyServiceStub(place.channel(replica.address, "admin/root"))


@pytest.fixture
def change(policies: Any, request_id: Any) -> Any:
    async def set_policy(policy: Policy, n: int, etag: str = "") -> pb.Policy:
        request = pb.SetPolicyRequest(
            body=policy.canonical, etag=etag, reason="a test", request_id=request_id(n)
        )
        version: pb.Policy = await policies.SetPolicy(request)
        return version

    return set_policy


async def test_before_any_policy_is_set_there_is_revision_0(policies: Any) -> None:
    held = await policies.GetPolicy(pb.GetPolicyRequest())
    assert (held.revision, held.sha256, held.body) == (0, NO_POLICY, b"")


async def test_versions_are_kept_by_digest_and_listed_newest_first(
    policies: Any, change: Any
) -> None:
    first = await change(EU, 1)
    second = await change(load_policy(EXAMPLE), 2, first.etag)
    assert (second.revision, second.creator) == (2, "spiffe://intertie.example/admin/root")
    kept = await policies.GetPolicy(pb.GetPolicyRequest(name=first.name))
    assert kept.body == EU.canonical
    page = await policies.ListPolicyVersions(pb.ListPolicyVersionsRequest(page_size=1))
    assert [version.revision for version in page.policies] == [2]
    rest = await policies.ListPolicyVersions(
        pb.ListPolicyVersionsRequest(page_size=1, page_token=page.next_page_token)
    )
    assert ([version.revision for version in rest.policies], rest.next_page_token) == ([1], "")


async def test_of_two_edits_at_once_the_second_is_refused(change: Any, refusal: Any) -> None:
    first = await change(EU, 1)
    await change(ONLY_FR, 2, first.etag)
    late = await refusal(change(EU, 3, first.etag))
    assert late.reason is Reason.ETAG_MISMATCH
    assert "revision 2" in late.message


async def test_a_repeated_request_makes_no_second_version(change: Any) -> None:
    assert await change(EU, 1) == await change(EU, 1)


async def test_only_administrators_set_it(
    place: Any, replica: Application, request_id: Any, refusal: Any
) -> None:
    stub = PolicyServiceStub(place.channel(replica.address))
    request = pb.SetPolicyRequest(body=EU.canonical, reason="x", request_id=request_id(1))
    assert (await refusal(stub.SetPolicy(request))).reason is Reason.PERMISSION_DENIED
    assert (await stub.GetPolicy(pb.GetPolicyRequest())).revision == 0


async def test_bytes_that_are_no_policy_are_refused(
    policies: Any, request_id: Any, refusal: Any
) -> None:
    request = pb.SetPolicyRequest(body=b"{}", reason="x", request_id=request_id(1))
    assert (await refusal(policies.SetPolicy(request))).reason is Reason.INVALID_FIELD


async def test_the_policy_outlives_the_replica(
    place: Any, replica: Application, change: Any
) -> None:
    await change(EU, 1)
    await replica.stop()
    again = await place.start()
    stub = PolicyServiceStub(place.channel(again.address))
    held = await stub.GetPolicy(pb.GetPolicyRequest())
    assert (held.revision, held.body) == (1, EU.canonical)


async def test_an_unknown_zone_is_refused_at_submit_with_the_nearest(
    tasks: Any, create: Any, change: Any, refusal: Any
) -> None:
    await change(load_policy(EXAMPLE), 1)
    fault = await refusal(tasks.CreateTask(create(residency=Residency(within=("EEAA",)))))
    assert fault.fields[0].field == "residency.within[0]"
    assert "the nearest is EEA" in fault.message


async def test_a_region_hears_the_policy_and_a_grant_cites_it(
    place: Any, replica: Application, tasks: Any, create: Any, change: Any
) -> None:
    await change(EU, 1)
    region = place.region(replica.address, features=("policy",))
    await region.attach()
    (update,) = await eventually(lambda: region.heard_of(PolicyUpdate), WITHIN_S)
    assert (update.revision, update.sha256, update.body) == (1, EU.sha256, EU.canonical)
    await change(ONLY_FR, 2)
    await eventually(lambda: len(region.heard_of(PolicyUpdate)) == 2, WITHIN_S)
    await tasks.CreateTask(create())
    (assign,) = await eventually(lambda: region.heard_of(Assign), WITHIN_S)
    assert parse_grant(assign.grant).policy_sha256 == ONLY_FR.sha256


async def test_a_rehearsal_says_what_would_change_and_changes_nothing(
    policies: Any, tasks: Any, eu: Any, create: Any, change: Any
) -> None:
    await change(EU, 1)
    made = await tasks.CreateTask(create(residency=Residency(within=("EU",))))
    await eu.run_of(made.name)
    told = await policies.RehearsePolicy(pb.RehearsePolicyRequest(body=ONLY_FR.canonical))
    (found,) = told.changes
    assert (found.task, found.region, found.assigned) == (made.name, "eu", True)
    assert (found.allowed_now, found.allowed_then, found.rule) == (True, False, "within EU")
    assert (await policies.GetPolicy(pb.GetPolicyRequest())).revision == 1


async def test_logs_of_a_restricted_task_are_for_declared_readers_within(
    place: Any, pki: Any, create: Any, refusal: Any
) -> None:
    place.overrides |= {"jurisdiction": "FR", "readers.demo": "US"}
    replica = await place.start()
    tasks = place.tasks(replica.address)
    region = place.region(replica.address)
    await region.attach()
    made = await tasks.CreateTask(create(residency=Residency(within=("DE", "FR"))))
    free = await tasks.CreateTask(create(2))
    for name in (made.name, free.name):
        await region.run_of(name)
    fault = await refusal(tasks.ReadTaskLogs(task_service_pb2.ReadTaskLogsRequest(name=made.name)))
    assert fault.reason is Reason.RESIDENCY_VIOLATION
    assert "the reader: US is not within DE, FR (rule: within DE, FR)" in fault.message
    undeclared = place.tasks(replica.address, "admin/root")
    fault = await refusal(
        undeclared.ReadTaskLogs(task_service_pb2.ReadTaskLogsRequest(name=made.name))
    )
    assert fault.metadata["rule"] == "undeclared reader"
    free_logs = tasks.ReadTaskLogs(task_service_pb2.ReadTaskLogsRequest(name=free.name))
    assert (await refusal(free_logs)).reason is Reason.NOT_FOUND, "the region was asked"
