"""The longest lease ever granted is durable: a restart with a shorter one waits for the old one."""

from dataclasses import replace
from typing import Any

import pytest

from federation.domain.core import REGION
from federation.domain.events import Send
from intertie.drive.effects import Write
from intertie.model.link import LeaseGrant
from intertie.model.states import OnDisconnect, TaskState

MOVE = OnDisconnect.MOVE
LONG_MS, SHORT_MS = 20_000, 6_000


@pytest.fixture
def moving(room: Any, spec: Any) -> Any:
    """A task that moves when its region is silent, under a lease of 20 s."""
    task = room.running(spec(on_disconnect=MOVE, move_after=1_000))
    room.renew()
    return task


def restart_with(room: Any, lease_ms: int) -> None:
    room.lose()
    room.timing = replace(room.timing, lease_ms=lease_ms)
    room.restart()


def test_a_longer_lease_is_durable_before_it_is_granted(room: Any) -> None:
    room.attach()
    effects = room.renew()
    writes = [i for i, e in enumerate(effects) if isinstance(e, Write) and e.kind == REGION]
    grants = [
        i
        for i, e in enumerate(effects)
        if isinstance(e, Send) and isinstance(e.message, LeaseGrant)
    ]
    assert (len(writes), len(grants)) == (1, 1)
    assert writes < grants
    assert room.rows[REGION, "eu"].lease_ms == LONG_MS


def test_a_renewal_by_the_same_lease_writes_nothing(room: Any, pick: Any) -> None:
    room.attach()
    room.renew()
    assert not pick.some(room.renew(seq=2), Write)


def test_a_restart_with_a_shorter_lease_waits_for_the_longer_one(room: Any, moving: Any) -> None:
    restart_with(room, SHORT_MS)
    room.wait(LONG_MS / 1000 + 1)
    assert room.state(moving) is TaskState.UNKNOWN
    room.wait(0.2)
    assert room.state(moving) is TaskState.PENDING


def test_a_short_renewal_does_not_end_a_longer_lease_of_an_earlier_life(
    room: Any, moving: Any
) -> None:
    restart_with(room, SHORT_MS)
    room.attach()
    room.renew()
    room.lose()
    room.wait(LONG_MS / 1000 + 1)
    assert room.state(moving) is TaskState.UNKNOWN
    room.wait(0.2)
    assert room.state(moving) is TaskState.PENDING


def test_a_second_restart_still_waits_for_the_longer_lease(room: Any, moving: Any) -> None:
    restart_with(room, SHORT_MS)
    room.attach()
    room.renew()
    restart_with(room, SHORT_MS)
    room.wait(LONG_MS / 1000 + 1)
    assert room.state(moving) is TaskState.UNKNOWN


def test_the_longest_lease_shrinks_when_every_longer_one_is_over(room: Any, moving: Any) -> None:
    restart_with(room, SHORT_MS)
    room.attach()
    room.wait(LONG_MS / 1000 + 1.1)
    room.renew()
    assert room.rows[REGION, "eu"].lease_ms == SHORT_MS
    restart_with(room, SHORT_MS)
    room.wait(SHORT_MS / 1000 + 1)
    assert room.state(moving) is TaskState.UNKNOWN
    room.wait(0.2)
    assert room.state(moving) is TaskState.PENDING


def test_a_run_that_its_region_forgot_is_kept_until_the_longer_lease_is_over(
    room: Any, moving: Any
) -> None:
    restart_with(room, SHORT_MS)
    room.digest(room.attach())
    assert room.state(moving) is TaskState.UNKNOWN
    room.wait(LONG_MS / 1000)
    room.digest(room.attach())
    assert room.state(moving) is TaskState.UNKNOWN
    room.wait(2)
    room.digest(room.attach())
    assert room.state(moving) is TaskState.PENDING
