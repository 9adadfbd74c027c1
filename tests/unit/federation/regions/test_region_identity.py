"""What a region is cannot change under its name, and no project has its name."""

from typing import Any

from federation.domain.core import REGION
from intertie.drive.effects import Fail, Reply, Write
from intertie.errors import IntertieError, Reason


def refusal_of(effects: list[object], pick: Any) -> IntertieError:
    assert not pick.some(effects, Write)
    refused: IntertieError = pick.one(effects, Fail).error
    return refused


def test_a_region_that_says_it_is_elsewhere_is_refused_with_both_places(
    room: Any, pick: Any
) -> None:
    room.attach(jurisdiction="DE/DE-HE/fra1")
    room.lose()
    refused = refusal_of(room.hello("eu", jurisdiction="US/US-VA/iad1"), pick)
    assert refused.reason is Reason.PERMISSION_DENIED
    assert "US/US-VA/iad1" in refused.message
    assert "DE/DE-HE/fra1" in refused.message
    assert "DE/DE-HE/fra1" in refused.remedy
    assert room.rows[REGION, "eu"].jurisdiction == "DE/DE-HE/fra1"


def test_where_a_region_is_outlives_a_restart(room: Any, pick: Any) -> None:
    room.attach(jurisdiction="DE/DE-HE/fra1")
    room.restart()
    assert refusal_of(room.hello("eu", jurisdiction="DE/DE-HE/fra2"), pick)
    assert pick.some(room.attach(jurisdiction="DE/DE-HE/fra1"), Reply)


def test_a_region_that_is_refused_keeps_its_earlier_link(room: Any, pick: Any) -> None:
    room.attach()
    refusal_of(room.hello("eu", jurisdiction="US"), pick)
    assert room.core.fleet.members["eu"].hello.jurisdiction == "DE/DE-HE/fra1"


def test_a_project_with_the_name_of_a_region_may_not_submit(room: Any, pick: Any) -> None:
    room.attach("eu")
    room.restart()
    refused = refusal_of(room.create(project="eu"), pick)
    assert refused.reason is Reason.PERMISSION_DENIED
    assert refused.metadata == {"project": "eu", "region": "eu"}
    assert pick.some(room.create(project="demo"), Reply)


def test_a_region_with_the_name_of_a_project_may_not_attach(room: Any, pick: Any) -> None:
    task = room.submit(project="eu")
    room.cancel(task, project="eu")
    room.restart()
    refused = refusal_of(room.hello("eu"), pick)
    assert refused.reason is Reason.PERMISSION_DENIED
    assert refused.remedy == "Join under another region id."
    assert pick.some(room.attach("us"), Reply)


def test_a_project_is_written_down_once(room: Any, pick: Any) -> None:
    writes = pick.some(room.create(), Write)
    assert [w.kind for w in writes].count("project") == 1
    room.restart()
    assert "project" not in [w.kind for w in pick.some(room.create(), Write)]
