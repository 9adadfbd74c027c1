"""The clock of this machine and the identifiers that it makes."""

import time
import uuid

from intertie.clock import SystemClock, SystemIds
from intertie.model.names import REQUEST_ID, TaskName, task_id


def test_the_boot_clock_never_goes_back_and_names_its_boot() -> None:
    clock = SystemClock()
    readings = [clock.now() for _ in range(100)]
    assert [r.boot_ns for r in readings] == sorted(r.boot_ns for r in readings)
    assert {r.boot_id for r in readings} == {clock.now().boot_id}
    assert uuid.UUID(readings[0].boot_id)


def test_an_offset_shifts_utc_and_leaves_the_boot_clock() -> None:
    late, true = SystemClock(offset_ms=600_000), SystemClock()
    assert 599_000 < late.now().utc_ms - true.now().utc_ms < 601_000
    assert abs(late.now().boot_ns - true.now().boot_ns) < 10**9


def test_identifiers_are_uuid7_of_this_millisecond_and_all_differ() -> None:
    ids = SystemIds()
    before = time.time_ns() // 1_000_000  # noqa: TID251 - what the identifier is checked against
    made = [uuid.UUID(ids.uuid7()) for _ in range(1000)]
    after = time.time_ns() // 1_000_000  # noqa: TID251 - what the identifier is checked against
    assert len(set(made)) == 1000
    assert {u.version for u in made} == {7}
    assert {u.variant for u in made} == {uuid.RFC_4122}
    assert all(before <= u.int >> 80 <= after for u in made)


def test_an_identifier_is_a_request_id_and_makes_a_task_name() -> None:
    made = SystemIds().uuid7()
    assert REQUEST_ID.fullmatch(made)
    name = TaskName("vision", task_id(5, made))
    assert TaskName.parse(str(name)) == name


def test_secrets_have_the_length_asked_for() -> None:
    ids = SystemIds()
    assert len(ids.token_hex(16)) == 32
    assert ids.token_hex(16) != ids.token_hex(16)
