"""Jurisdiction paths: where a place is, from the country down (`CN/CN-JS/suzhou-park/hall-2`).

ISO 3166-1 country, ISO 3166-2 subdivision, site, and below it what the site's owner refines. Where
ISO names no subdivision of a country, the site follows at once (`HK/tko-1`). Only the form is
checked here; `intertie.model.validate.iso3166` knows which codes exist.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from intertie.errors import invalid

_COUNTRY = re.compile(r"[A-Z]{2}")
_SUBDIVISION = re.compile(r"([A-Z]{2})-[A-Z0-9]{1,3}")
ZONE = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,62}")
"""Names of zones of the policy; one that is no path can only be a zone."""
_PLACE = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True, order=True)
class Jurisdiction:
    """A place: its parts from the country down."""

    parts: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, field: str = "jurisdiction") -> Self:
        """Parse a path; INVALID_FIELD with the part at fault if it is none."""
        fault = path_fault(text)
        if fault:
            raise invalid(field, fault, remedy="Write a path like DE/DE-HE/fra1, or a part of it.")
        return cls(tuple(text.split("/")))

    @property
    def country(self) -> str:
        """ISO 3166-1 alpha-2 code."""
        return self.parts[0]

    @property
    def subdivision(self) -> str:
        """ISO 3166-2 code, empty if the path has none."""
        has_one = len(self.parts) > 1 and _SUBDIVISION.fullmatch(self.parts[1])
        return self.parts[1] if has_one else ""

    def __str__(self) -> str:
        return "/".join(self.parts)


def path_fault(text: str) -> str:
    """What is wrong with the form of a path; empty if nothing is."""
    shown = repr(text[:120])
    country, *below = text.split("/")
    if not _COUNTRY.fullmatch(country):
        return (
            f"{shown} is not a jurisdiction path: it must begin with an ISO 3166-1 country of two"
            " capitals"
        )
    if len(below) >= _MAX_DEPTH:
        return f"{shown} has more than {_MAX_DEPTH} parts"
    for depth, part in enumerate(below):
        subdivision = _SUBDIVISION.fullmatch(part)
        if depth == 0 and subdivision:
            if subdivision[1] != country:
                return f"{shown}: {part} is not a subdivision of {country}"
        elif not _PLACE.fullmatch(part):
            return f"{shown}: {part[:60]!r} is not a site (a-z, 0-9, dots, dashes)"
    return ""


def covers(area: str, path: str) -> bool:
    """Whether a path lies in an area: it is the area itself or below it, part by part."""
    return path == area or path.startswith(area + "/")


def covering(areas: Iterable[str], path: str) -> str:
    """The first of some areas that the path lies in, empty if it lies in none."""
    return next((area for area in areas if covers(area, path)), "")
