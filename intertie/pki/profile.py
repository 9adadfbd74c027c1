"""How long certificates live, by role, and how far clocks may be apart. Numbers only.

`certs/profiles.toml` repeats them for the issuing script; a test pins the two to each other.
"""

from collections.abc import Mapping
from random import Random

from intertie.pki.spiffe import Role

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

BACKDATE_MS = 15 * MINUTE_MS
"""NotBefore lies this far before the moment of issue."""

MAX_SKEW_MS = 10 * MINUTE_MS
"""Clocks further apart are named. Below BACKDATE_MS, so TLS still lets the error be told."""

CA_LIFE_MS = 3650 * DAY_MS
REGIONAL_CA_LIFE_MS = 1825 * DAY_MS

LEAF_LIFE_MS: Mapping[Role, int] = {
    Role.FEDERATION: 24 * HOUR_MS,
    Role.SCHEDULER: 24 * HOUR_MS,
    Role.NODE: HOUR_MS,
    Role.ADMIN: 12 * HOUR_MS,
    Role.PROJECT: 12 * HOUR_MS,
    Role.OPERATOR: 12 * HOUR_MS,
    Role.BILLING: 12 * HOUR_MS,
    Role.WITNESS: 12 * HOUR_MS,
}


def renew_at_ms(not_before_ms: int, not_after_ms: int, random: Random) -> int:
    """When to renew: between half and two thirds of the life after issue, spread by chance."""
    issued_ms = not_before_ms + BACKDATE_MS
    life_ms = not_after_ms - issued_ms
    assert life_ms > 0, "a certificate ends after it was issued"
    return issued_ms + round(life_ms * random.uniform(1 / 2, 2 / 3))
