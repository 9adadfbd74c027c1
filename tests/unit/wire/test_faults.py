"""What a mapper refuses, and how it names the field."""

from dataclasses import dataclass

import pytest
from google.protobuf.duration_pb2 import Duration

from intertie.api.federation.v1 import link_pb2, states_pb2, task_pb2, task_spec_pb2
from intertie.errors import CallerError, Reason
from intertie.model.pool import Device, NodeCapability
from intertie.model.spec import FileRef, Gang, Kind, Resources, RunSpec, TaskSpec, Tolerance
from intertie.model.states import OnDisconnect, TaskState
from intertie.model.task import Task, TaskEvent
from intertie.wire.link import region_message_from_pb
from intertie.wire.mapping import mapper
from intertie.wire.pool import capability_from_pb, capability_to_pb
from intertie.wire.tasks import event_from_pb, spec_from_pb, spec_to_pb, task_from_pb, task_to_pb

ID = "2a-01890a5d-ac96-774b-bcce-b302099a8057"


def refused(message: task_spec_pb2.TaskSpec) -> tuple[str, str]:
    with pytest.raises(CallerError) as caught:
        spec_from_pb(message)
    assert caught.value.reason is Reason.INVALID_FIELD
    (violation,) = caught.value.fields
    return violation.field, violation.description


def test_a_spec_with_nothing_set_has_the_defaults_of_the_model() -> None:
    spec = spec_from_pb(task_spec_pb2.TaskSpec(run=task_spec_pb2.RunSpec()))
    assert spec == TaskSpec(run=RunSpec())
    assert spec.kind is Kind.GENERIC
    assert spec.tolerance.on_disconnect is OnDisconnect.STAY


def test_zero_in_a_spec_means_the_default_of_the_field() -> None:
    message = task_spec_pb2.TaskSpec(
        run=task_spec_pb2.RunSpec(files=[task_spec_pb2.FileRef(path="a")]),
        resources=task_spec_pb2.Resources(memory_bytes=5),
        gang=task_spec_pb2.Gang(),
    )
    spec = spec_from_pb(message)
    assert spec.resources == Resources(memory=5)
    assert spec.run.files == (FileRef(path="a", mode=0o644),)
    assert spec.gang == Gang(nodes=1)


def test_zero_on_a_link_is_zero_and_false_is_false() -> None:
    node = NodeCapability(
        cpu=1,
        memory=1,
        disk=1,
        architecture="x",
        numa_nodes=0,
        devices=(Device(index=0, uuid="u", vendor="v", model="m", numa=0, healthy=False),),
    )
    assert capability_from_pb(capability_to_pb(node)) == node


def test_an_explicit_zero_duration_is_not_the_default() -> None:
    spec = TaskSpec(run=RunSpec(), tolerance=Tolerance(move_after=0))
    assert spec_from_pb(spec_to_pb(spec)).tolerance.move_after == 0


def test_a_message_that_must_be_set_is_asked_for_by_name() -> None:
    assert refused(task_spec_pb2.TaskSpec()) == ("run", "must be given")


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (Duration(seconds=-1), "must not be negative"),
        (Duration(nanos=-1), "must not be negative"),
        (Duration(seconds=315_576_000_001), "out of range"),
        (Duration(nanos=1_000_000_000), "out of range"),
        (Duration(nanos=1), "whole milliseconds"),
    ],
)
def test_a_duration_that_is_none_is_refused_with_its_path(duration: Duration, text: str) -> None:
    field, description = refused(
        task_spec_pb2.TaskSpec(run=task_spec_pb2.RunSpec(timeout=duration))
    )
    assert field == "run.timeout"
    assert text in description


def test_a_number_of_an_enum_that_is_unknown_is_refused_by_name() -> None:
    message = task_spec_pb2.TaskSpec(run=task_spec_pb2.RunSpec())
    message.tolerance.on_disconnect = 77  # type: ignore[assignment]  # what a newer peer may send
    field, description = refused(message)
    assert field == "tolerance.on_disconnect"
    assert "77" in description


def test_a_state_that_must_be_given_may_not_be_unspecified() -> None:
    with pytest.raises(CallerError, match="after: must be given"):
        event_from_pb(task_pb2.TaskEvent(task="t"))


def test_an_optional_state_that_is_unspecified_is_none() -> None:
    message = task_pb2.TaskEvent(after=states_pb2.TASK_STATE_PENDING)
    assert event_from_pb(message) == TaskEvent(
        task="", at_ms=0, before=None, after=TaskState.PENDING, reason="", actor=""
    )


def test_a_fault_inside_a_list_names_the_index() -> None:
    variant = task_spec_pb2.Variant(when=task_spec_pb2.VariantCondition())
    message = task_spec_pb2.TaskSpec(
        run=task_spec_pb2.RunSpec(variants=[variant, task_spec_pb2.Variant()])
    )
    assert refused(message)[0] == "run.variants[1].when"


def test_money_that_the_model_refuses_is_named_by_the_models_path() -> None:
    message = task_spec_pb2.TaskSpec(
        run=task_spec_pb2.RunSpec(),
        budget=task_spec_pb2.Budget(),
    )
    message.budget.total.currency_code = "euro"
    field, description = refused(message)
    assert field == "budget.total.currency"
    assert "'euro'" in description


def test_a_value_that_does_not_fit_into_its_message_is_named_by_the_models_path() -> None:
    spec = TaskSpec(run=RunSpec(files=(FileRef(path="a"), FileRef(path="b", mode=2**40))))
    with pytest.raises(CallerError) as caught:
        spec_to_pb(spec)
    assert caught.value.fields[0].field == "run.files[1].mode"


def test_half_of_a_surrogate_pair_is_refused_on_the_way_out() -> None:
    with pytest.raises(CallerError, match=r"run\.env"):
        spec_to_pb(TaskSpec(run=RunSpec(env={"A": "\ud800"})))


def test_an_instant_out_of_range_is_refused_both_ways() -> None:
    message = task_pb2.Task(name=f"projects/p1/tasks/{ID}", etag="1")
    message.create_time.seconds = 2**50
    with pytest.raises(CallerError, match=r"created_ms: .* out of range for an instant"):
        task_from_pb(message)
    with pytest.raises(CallerError, match=r"created_ms: .* out of range for an instant"):
        task_to_pb(Task(project="p1", id=ID, spec=None, created_ms=2**60))


@pytest.mark.parametrize(("name", "etag"), [("tasks/x", "1"), (f"projects/p1/tasks/{ID}", "x")])
def test_the_name_and_the_etag_of_a_task_are_checked(name: str, etag: str) -> None:
    with pytest.raises(CallerError) as caught:
        task_from_pb(task_pb2.Task(name=name, etag=etag))
    assert caught.value.fields[0].field in ("name", "etag")


def test_an_envelope_without_a_known_message_is_refused() -> None:
    with pytest.raises(CallerError, match="does not know"):
        region_message_from_pb(link_pb2.RegionMessage())


def test_the_path_of_a_fault_begins_where_the_caller_says() -> None:
    with pytest.raises(CallerError) as caught:
        spec_from_pb(task_spec_pb2.TaskSpec(), "requests[3].spec")
    assert caught.value.fields[0].field == "requests[3].spec.run"


def test_a_pair_whose_declarations_differ_is_never_built() -> None:
    with pytest.raises(AssertionError, match="is paired with"):
        mapper(TaskSpec, task_pb2.Task)


def test_a_pair_with_a_field_on_one_side_only_is_never_built() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Weight:
        name: str
        value: float
        unit: str = ""

    with pytest.raises(AssertionError, match="has none of"):
        mapper(Weight, task_pb2.Weight)

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Check:
        name: str

    with pytest.raises(AssertionError, match="'have', 'holds', 'need'"):
        mapper(Check, task_pb2.Check)


@pytest.mark.parametrize("ms", [-1, 10**18])
def test_a_duration_that_no_message_can_hold_is_refused_on_the_way_out(ms: int) -> None:
    with pytest.raises(CallerError) as caught:
        spec_to_pb(TaskSpec(run=RunSpec(timeout=ms)))
    assert caught.value.fields[0].field == "run.timeout"
