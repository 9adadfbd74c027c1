"""Which countries and subdivisions exist, from ISO 3166 as `pycountry` carries it.

The tables are read when this module is imported, by those who check a spec or a configuration; what
only compares paths needs `intertie.model.jurisdiction` alone.
"""

import pycountry

from intertie.model.jurisdiction import Jurisdiction

COUNTRIES: frozenset[str] = frozenset(country.alpha_2 for country in pycountry.countries)
"""ISO 3166-1 alpha-2."""

SUBDIVISIONS: frozenset[str] = frozenset(part.code for part in pycountry.subdivisions)
"""ISO 3166-2."""

_NO_ZONES = " (named zones are not served by this version)"
_DIVIDED = frozenset(code[:2] for code in SUBDIVISIONS)


def code_fault(place: Jurisdiction) -> str:
    """What is wrong with the codes of a path; empty if all of them exist."""
    if place.country not in COUNTRIES:
        return f"{place}: ISO 3166-1 has no country {place.country}{_NO_ZONES}"
    if len(place.parts) == 1:
        return ""
    if not place.subdivision:
        if place.country not in _DIVIDED:
            return ""
        return f"{place}: after {place.country} an ISO 3166-2 subdivision must follow"
    if place.subdivision not in SUBDIVISIONS:
        return f"{place}: ISO 3166-2 has no subdivision {place.subdivision}"
    return ""
