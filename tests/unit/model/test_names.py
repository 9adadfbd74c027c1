"""Names and identifiers, as the contract fixes them."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import CallerError
from intertie.model.names import (
    SHARDS,
    RunName,
    TaskName,
    order_of_id,
    shard_of,
    shard_of_id,
    task_id,
)

UUID = "01890a5d-ac96-774b-bcce-b302099a8057"
PROJECTS = st.from_regex(r"[a-z][a-z0-9-]{1,62}", fullmatch=True)


def test_the_shard_of_a_request_never_changes() -> None:
    assert SHARDS == 64
    assert shard_of("vision", UUID) == 23
    assert shard_of("vision", UUID, 7) == 4


@given(PROJECTS, st.uuids())
def test_a_retried_create_reaches_the_same_shard_which_the_id_carries(
    project: str, request: Any
) -> None:
    shard = shard_of(project, str(request))
    assert 0 <= shard < SHARDS
    assert shard_of_id(task_id(shard, UUID)) == shard


def test_requests_spread_evenly_over_the_shards() -> None:
    counts = Counter(shard_of("vision", str(i)) for i in range(6400))
    assert len(counts) == SHARDS
    assert min(counts.values()) > 60
    assert max(counts.values()) < 150


def test_the_order_of_ids_is_the_order_in_time_whatever_the_shard() -> None:
    later = "01890a5e" + UUID[8:]
    assert order_of_id(task_id(63, UUID)) < order_of_id(task_id(0, later))


@given(PROJECTS, st.integers(0, SHARDS - 1), st.uuids(), st.integers(1, 999_999))
def test_names_come_back_equal_from_their_text(project: str, shard: int, uuid: Any, n: int) -> None:
    name = TaskName(project, task_id(shard, str(uuid)))
    assert TaskName.parse(str(name)) == name
    assert name.shard == shard
    assert RunName.parse(str(RunName(name, n))) == RunName(name, n)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "vision",
        f"projects/vision/tasks/{UUID}",
        f"projects/Vision/tasks/09-{UUID}",
        f"projects/v/tasks/09-{UUID}",
        f"projects/vision/tasks/09-{UUID.upper()}",
        f"projects/vision/tasks/09-{UUID}/",
        f"projects/vision/tasks/09-{UUID}\n",
        f"projects/vision/tasks/09-{UUID}/runs/1",
    ],
)
def test_what_is_no_name_of_a_task_is_refused_by_field(text: str) -> None:
    with pytest.raises(CallerError) as caught:
        TaskName.parse(text, "parent")
    assert caught.value.fields[0].field == "parent"


@pytest.mark.parametrize("n", ["0", "01", "-1", "1000000", "x", ""])
def test_runs_are_numbered_from_one(n: str) -> None:
    with pytest.raises(CallerError):
        RunName.parse(f"projects/vision/tasks/09-{UUID}/runs/{n}")
