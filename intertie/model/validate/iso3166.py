"""Which countries and subdivisions exist, from ISO 3166 as `pycountry` carries it.

The tables are read with the first path that is checked: a service that only compares paths needs
`intertie.model.jurisdiction` alone, and is spared their 5 MiB.
"""

from functools import cache

from intertie.model.jurisdiction import Jurisdiction


@cache
def countries() -> frozenset[str]:
    """ISO 3166-1 alpha-2."""
    import pycountry

    return frozenset(country.alpha_2 for country in pycountry.countries)


@cache
def subdivisions() -> frozenset[str]:
    """ISO 3166-2."""
    import pycountry

    return frozenset(part.code for part in pycountry.subdivisions)


@cache
def _divided() -> frozenset[str]:
    return frozenset(code[:2] for code in subdivisions())


def code_fault(place: Jurisdiction) -> str:
    """What is wrong with the codes of a path; empty if all of them exist."""
    if place.country not in countries():
        return f"{place}: ISO 3166-1 has no country {place.country}"
    if len(place.parts) == 1:
        return ""
    if not place.subdivision:
        if place.country not in _divided():
            return ""
        return f"{place}: after {place.country} an ISO 3166-2 subdivision must follow"
    if place.subdivision not in subdivisions():
        return f"{place}: ISO 3166-2 has no subdivision {place.subdivision}"
    return ""
