"""A region whose clock is off: nine minutes are borne, eleven are refused by name."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any
from urllib.request import urlopen

import pytest

from intertie.clock import SystemClock
from intertie.config import load
from intertie.model.states import TaskState
from intertie.testing.waiting import eventually
from regional.app import Application as Region
from regional.config import Config as RegionConfig

MINUTE_MS = 60_000


@pytest.fixture(scope="module")
def place(new_cluster: Any) -> Any:
    """A federation of its own: its region's clock goes forth and back."""
    cluster = new_cluster()
    cluster.up(1)
    return cluster


@pytest.fixture
async def region(place: Any) -> AsyncIterator[Any]:
    """Runs the region in this process with a clock that is off by some minutes."""
    place.processes.stop("region")
    made: list[Region] = []

    async def run(minutes: int) -> Region:
        config = load(RegionConfig, file=place.layout.config("region"))
        made.append(Region(config, clock=SystemClock(minutes * MINUTE_MS)))
        await made[-1].start()
        return made[-1]

    yield run
    for region in made:
        await region.stop()


def skews(place: Any) -> float:
    """How often the federation refused a call for its clock."""
    port = place.description.federation.telemetry
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if '"CLOCK_SKEW"' in line)


async def _refused_since(place: Any, before: float) -> bool:
    return await asyncio.to_thread(skews, place) > before


@pytest.mark.parametrize("minutes", [9, -9])
async def test_a_region_nine_minutes_off_runs_tasks(
    place: Any, person_of: Any, region: Any, minutes: int
) -> None:
    await region(minutes)
    async with person_of(place) as person:
        ended = await person.ended(await person.submit("true"))
    assert ended.state is TaskState.SUCCEEDED


@pytest.mark.parametrize("minutes", [11, -11])
async def test_a_region_eleven_minutes_off_is_refused_by_name(
    place: Any, region: Any, minutes: int
) -> None:
    before = await asyncio.to_thread(skews, place)
    await region(minutes)
    await eventually(partial(_refused_since, place, before), 10, 0.1, what="a refusal")
