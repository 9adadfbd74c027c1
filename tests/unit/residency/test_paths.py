"""May a task be at a place: the rule over jurisdiction paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.model.jurisdiction import covers
from intertie.residency.paths import allowed

SUZHOU = "CN/CN-JS/suzhou-park"
PARTS = st.sampled_from(
    ["CN", "CN/CN-JS", "CN/CN-JS/a", "CN/CN-JS/ab", "CN/CN-SH", "DE", "DE/DE-HE/f1", "DE/DE-HE"]
)
AREAS = st.lists(PARTS, max_size=3)


def test_a_task_without_bounds_may_be_anywhere_even_at_an_unknown_place() -> None:
    assert allowed(SUZHOU, (), ()).allowed
    assert allowed("", (), ()).allowed


@pytest.mark.parametrize("area", ["CN", "CN/CN-JS", SUZHOU])
def test_a_place_is_within_itself_and_all_that_contains_it(area: str) -> None:
    ruling = allowed(SUZHOU, (area,), ())
    assert ruling.allowed
    assert ruling.rule == f"within {area}"


def test_one_of_several_areas_is_enough() -> None:
    assert allowed(SUZHOU, ("DE", "CN"), ()).rule == "within CN"


def test_a_place_outside_of_every_area_is_refused_and_says_why() -> None:
    ruling = allowed("DE/DE-HE/fra1", ("CN", "SG"), ())
    assert not ruling.allowed
    assert ruling.rule == "within CN, SG"
    assert ruling.reason == "DE/DE-HE/fra1 is not within CN, SG"


def test_a_name_that_only_begins_alike_is_another_place() -> None:
    assert not allowed("CN/CN-JS/suzhou-park-2", (SUZHOU,), ()).allowed
    assert allowed("CN/CN-JS/suzhou-park-2", (), (SUZHOU,)).allowed


def test_not_within_is_stronger_than_within() -> None:
    ruling = allowed(SUZHOU, ("CN",), ("CN/CN-JS",))
    assert not ruling.allowed
    assert ruling.rule == "not_within CN/CN-JS"


def test_a_place_known_only_roughly_is_refused_when_a_part_of_it_is_forbidden() -> None:
    ruling = allowed("CN/CN-JS", ("CN",), (SUZHOU,))
    assert not ruling.allowed
    assert "not known to be outside" in ruling.reason


def test_a_place_known_only_roughly_is_not_within_a_part_of_it() -> None:
    assert not allowed("CN", (SUZHOU,), ()).allowed


@pytest.mark.parametrize("path", ["", "suzhou", "cn", "CN/DE-HE", "CN//x", "CN/CN-JS/Suzhou"])
def test_an_unknown_place_is_refused_as_soon_as_a_bound_is_given(path: str) -> None:
    assert not allowed(path, ("CN",), ()).allowed
    assert not allowed(path, (), ("US",)).allowed


@given(PARTS, AREAS, AREAS)
def test_no_ruling_ever_lets_data_into_a_forbidden_area_or_out_of_the_areas(
    path: str, within: list[str], not_within: list[str]
) -> None:
    if allowed(path, within, not_within).allowed:
        assert not any(covers(area, path) or covers(path, area) for area in not_within)
        assert not within or any(covers(area, path) for area in within)


@given(PARTS, AREAS, AREAS, PARTS)
def test_a_further_prohibition_never_allows_more(
    path: str, within: list[str], not_within: list[str], more: str
) -> None:
    if not allowed(path, within, not_within).allowed:
        assert not allowed(path, within, [*not_within, more]).allowed
