"""Canonical bytes of specs, and digests of requests."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.api.federation.v1 import task_service_pb2, task_spec_pb2
from intertie.errors import CallerError
from intertie.model.spec import RunSpec, TaskSpec
from intertie.wire.canonical import decode_spec, encode_spec, request_digest, spec_sha256

SPEC = TaskSpec(array=3, name="ü", run=RunSpec(command=("a",), env={"B": "2", "A": "1"}))


def test_a_spec_comes_back_equal_from_its_canonical_bytes(
    values: Callable[[Any], st.SearchStrategy[Any]],
) -> None:
    @given(values(TaskSpec))
    def comes_back(spec: TaskSpec) -> None:
        assert decode_spec(encode_spec(spec)) == spec

    comes_back()


def test_canonical_bytes_have_sorted_keys_no_spaces_and_no_defaults() -> None:
    data = encode_spec(SPEC)
    again = json.dumps(json.loads(data), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert data == again.encode()
    assert set(json.loads(data)) == {"array", "name", "run"}


def test_the_order_of_a_mapping_does_not_change_the_digest() -> None:
    other = TaskSpec(array=3, name="ü", run=RunSpec(command=("a",), env={"A": "1", "B": "2"}))
    assert spec_sha256(SPEC) == spec_sha256(other)
    assert spec_sha256(SPEC) == hashlib.sha256(encode_spec(SPEC)).hexdigest()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        encode_spec(SPEC) + b" ",
        encode_spec(SPEC).replace(b'"array":3', b'"array":"3"'),
        encode_spec(SPEC).replace(b'"array":3', b'"array":0'),
        encode_spec(SPEC).replace(b'{"array":3', b'{"aaa_newer":1,"array":3'),
        encode_spec(SPEC).replace(b'"array":3', b'"array":1,"array":3'),
    ],
    ids=["empty", "no run", "utf8", "deep", "tail", "type", "a default", "newer", "twice"],
)
def test_bytes_that_are_not_canonical_are_refused(data: bytes) -> None:
    with pytest.raises(CallerError, match="spec: is no canonical spec"):
        decode_spec(data)


def test_bytes_of_a_version_without_a_field_mean_its_default() -> None:
    assert decode_spec(b'{"run":{"command":["a"]}}') == TaskSpec(run=RunSpec(command=("a",)))


def request(command: str = "a", **labels: str) -> task_service_pb2.CreateTaskRequest:
    spec = task_spec_pb2.TaskSpec(run=task_spec_pb2.RunSpec(command=[command]), labels=labels)
    return task_service_pb2.CreateTaskRequest(parent="projects/p1", spec=spec, request_id="r")


def test_equal_requests_have_one_digest_whatever_the_order_of_maps() -> None:
    assert request_digest(request(a="1", b="2")) == request_digest(request(b="2", a="1"))


def test_another_payload_has_another_digest() -> None:
    assert request_digest(request("a")) != request_digest(request("b"))


def test_a_default_that_is_written_out_is_another_request() -> None:
    plain, written = request(), request()
    written.spec.resources.cpu_millis = 1000
    assert request_digest(plain) != request_digest(written)


def test_equal_bytes_of_another_method_are_another_request() -> None:
    one = task_service_pb2.GetTaskRequest(name="x")
    other = task_service_pb2.ExplainTaskRequest(name="x")
    assert one.SerializeToString() == other.SerializeToString()
    assert request_digest(one) != request_digest(other)
