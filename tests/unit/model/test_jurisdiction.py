"""Jurisdiction paths and the ISO codes in them."""

import pytest

from intertie.errors import CallerError
from intertie.model.jurisdiction import Jurisdiction, covering, covers, path_fault
from intertie.model.validate.iso3166 import code_fault, countries, subdivisions


@pytest.mark.parametrize(
    ("text", "country", "subdivision"),
    [
        ("CN", "CN", ""),
        ("CN/CN-JS", "CN", "CN-JS"),
        ("CN/CN-JS/suzhou-park", "CN", "CN-JS"),
        ("DE/DE-HE/fra1/hall-2/row.7", "DE", "DE-HE"),
        ("HK/tko-1", "HK", ""),
    ],
)
def test_a_path_goes_from_the_country_down(text: str, country: str, subdivision: str) -> None:
    place = Jurisdiction.parse(text)
    assert (str(place), place.country, place.subdivision) == (text, country, subdivision)
    assert code_fault(place) == ""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "must begin with an ISO 3166-1 country"),
        ("cn", "must begin with an ISO 3166-1 country"),
        ("EEA", "must begin with an ISO 3166-1 country"),
        ("suzhou-park", "must begin with an ISO 3166-1 country"),
        ("CN/DE-HE", "DE-HE is not a subdivision of CN"),
        ("CN/", "is not a site"),
        ("CN/CN-JS/../x", "is not a site"),
        ("CN/CN-JS/CN-SH", "is not a site"),
        ("CN/CN-JS/Park", "is not a site"),
        ("CN/CN-JS/a\0", "is not a site"),
        ("CN/CN-JS\n", "is not a site"),
        ("CN/CN-JS" + "/a" * 8, "more than 8 parts"),
    ],
)
def test_what_is_no_path_is_refused_and_the_part_is_named(text: str, fault: str) -> None:
    assert fault in path_fault(text)
    with pytest.raises(CallerError) as caught:
        Jurisdiction.parse(text, "residency.within[0]")
    assert caught.value.fields[0].field == "residency.within[0]"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("EU", "no country EU"),
        ("XX/XX-AA", "no country XX"),
        ("DE/DE-XX", "no subdivision DE-XX"),
        ("DE/fra1", "after DE an ISO 3166-2 subdivision must follow"),
    ],
)
def test_a_code_that_iso_does_not_have_is_refused(text: str, fault: str) -> None:
    assert path_fault(text) == ""
    assert fault in code_fault(Jurisdiction.parse(text))


def test_the_code_tables_are_those_of_iso_3166() -> None:
    assert len(countries()) == 249
    assert {"CN", "DE", "NO", "US"} <= countries()
    assert {"CN-JS", "DE-HE", "US-CA"} <= subdivisions()


def test_an_area_covers_itself_and_what_lies_below_part_by_part() -> None:
    assert covers("CN", "CN")
    assert covers("CN", "CN/CN-JS/a")
    assert not covers("CN/CN-JS/a", "CN/CN-JS/ab")
    assert not covers("CN/CN-JS", "CN")
    assert covering(("DE", "CN"), "CN/CN-JS") == "CN"
    assert covering(("DE",), "CN") == ""
