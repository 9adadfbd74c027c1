"""The fake clock and the seeded identifiers keep the promises of their ports."""

import uuid

import pytest

from intertie.ports import Clock, IdSource
from intertie.testing.clock import FakeClock, SeededIds


def test_the_fake_clock_stands_still_until_told() -> None:
    clock: Clock = FakeClock()
    assert clock.now() == clock.now()


def test_time_passes_on_both_clocks() -> None:
    clock = FakeClock(boot_ns=5, utc_ms=1000)
    now = clock.advance(1.5)
    assert (now.boot_ns, now.utc_ms) == (1_500_000_005, 2500)
    with pytest.raises(AssertionError):
        clock.advance(-1)


def test_small_advances_add_up_on_utc() -> None:
    clock = FakeClock(utc_ms=0)
    for _ in range(10):
        clock.advance_ns(100_000)
    assert clock.now().utc_ms == 1


def test_setting_utc_leaves_the_boot_clock() -> None:
    clock = FakeClock()
    before = clock.now()
    after = clock.step_utc(-3600)
    assert after.boot_ns == before.boot_ns
    assert after.utc_ms == before.utc_ms - 3_600_000


def test_a_reboot_changes_the_boot_id_and_restarts_the_boot_clock() -> None:
    clock = FakeClock()
    before = clock.now()
    after = clock.reboot(off_seconds=10)
    assert after.boot_id != before.boot_id
    assert after.boot_ns == 0
    assert after.utc_ms == before.utc_ms + 10_000


def test_seeded_ids_repeat_and_seeds_differ() -> None:
    ids: IdSource = SeededIds(1)
    again, other = SeededIds(1), SeededIds(2)
    made = [ids.uuid7() for _ in range(5)]
    assert made == [again.uuid7() for _ in range(5)]
    assert made != [other.uuid7() for _ in range(5)]
    assert ids.token_hex(8) == again.token_hex(8)
    assert len(ids.token_hex(8)) == 16


def test_seeded_ids_are_uuid7_of_the_clock_in_order() -> None:
    clock = FakeClock()
    ids = SeededIds(3, clock)
    made = [ids.uuid7() for _ in range(200)]
    clock.advance(0.001)
    made += [ids.uuid7() for _ in range(200)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    parsed = uuid.UUID(made[-1])
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert abs((parsed.int >> 80) - clock.now().utc_ms) <= 1
