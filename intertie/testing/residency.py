"""The residency rules said once more, as plainly as possible, and generated cases for both.

`dumb_ruling` reads the policy from top to bottom with no table, no bits and no memory. It shares
nothing with `intertie.residency.compiled`, so that an error in one shows in the other.
"""

import random
from collections.abc import Iterator

from intertie.model.spec import TransferBasis
from intertie.residency import Policy, Source, TransferRule, Want, Zone

Said = tuple[bool, str]
"""Whether, and the rule that decided."""

_COUNTRIES = ("CN", "DE", "FR", "US")
_PARTS = {"CN": ("CN-JS", "CN-GZ"), "DE": ("DE-HE",), "FR": ("FR-IDF",), "US": ("US-VA", "US-CA")}
_SITES = ("a", "ab", "park")
_CLASSES = ("personal", "secret")
_BASES = ("scc", "bcr")
_DAYS = ("2026-01-01", "2026-06-01", "2026-12-31")


def dumb_ruling(policy: Policy, want: Want, path: str, on: str) -> Said:
    """May a task be at a (well-formed) place?"""
    if not want.within and not want.not_within and not want.sources:
        return True, "any"
    said: list[str] = []
    if want.within or want.not_within:
        allowed, rule = _bounds(policy, want, path)
        if not allowed:
            return False, rule
        said.append(rule)
    for source in want.sources:
        answers = [
            _transfer(policy, source.data_class, want.basis, place, path, on)
            for place in source.places
        ]
        good = [rule for allowed, rule in answers if allowed]
        if not good:
            return False, answers[0][1]
        said.append(good[0])
    return True, "; ".join(dict.fromkeys(said))


def _bounds(policy: Policy, want: Want, path: str) -> Said:
    for area in want.not_within:
        if any(_is_below(path, member) for member in _members(policy, area)):
            return False, f"not_within {area}"
    for area in want.not_within:
        if any(_is_below(member, path) for member in _members(policy, area)):
            return False, f"not_within {area}"
    if not want.within:
        return True, f"not_within {', '.join(want.not_within)}"
    for area in want.within:
        if any(_is_below(path, member) for member in _members(policy, area)):
            return True, f"within {area}"
    return False, f"within {', '.join(want.within)}"


def _transfer(
    policy: Policy, data_class: str, basis: TransferBasis, source: str, to: str, on: str
) -> Said:
    if source == to:
        return True, "same place"
    missed = ""
    for rule in policy.rules:
        if data_class not in rule.data_classes:
            continue
        if not any(_in_area(policy, source, area) for area in rule.source):
            continue
        if not any(_in_area(policy, to, area) for area in rule.to):
            continue
        if any(_touches(policy, to, area) for area in rule.outside):
            continue
        is_late = bool(rule.expires) and on > rule.expires
        claimed = basis.basis in rule.bases and bool(basis.reference)
        claim_is_late = bool(basis.expires) and on > basis.expires
        if not is_late and (not rule.bases or (claimed and not claim_is_late)):
            return True, f"transfer {rule.name}"
        missed = missed or f"transfer {rule.name}"
    return False, missed or "no transfer rule"


def _members(policy: Policy, area: str) -> tuple[str, ...]:
    for zone in policy.zones:
        if zone.name == area:
            return zone.paths
    return (area,)


def _in_area(policy: Policy, path: str, area: str) -> bool:
    return area == "*" or any(_is_below(path, member) for member in _members(policy, area))


def _touches(policy: Policy, path: str, area: str) -> bool:
    return any(_is_below(path, m) or _is_below(m, path) for m in _members(policy, area))


def _is_below(path: str, area: str) -> bool:
    mine, its = path.split("/"), area.split("/")
    return mine[: len(its)] == its


# --- generated cases -----------------------------------------------------------------------------


def random_policy(rng: random.Random) -> Policy:
    """A small policy whose zones overlap, over few places, so that much collides."""
    zones = tuple(
        Zone(name, tuple(dict.fromkeys(random_path(rng) for _ in range(rng.randint(1, 4)))))
        for name in ("EU", "EEA", "park", "CN")[: rng.randint(0, 4)]
    )
    names = tuple(zone.name for zone in zones)
    rules = tuple(_random_rule(rng, f"r{i}", names) for i in range(rng.randint(0, 6)))
    return Policy(zones=zones, data_classes=tuple((c, c) for c in _CLASSES), rules=rules)


def random_cases(rng: random.Random, count: int) -> Iterator[tuple[Policy, Want, str, str]]:
    """Questions, two hundred for each policy."""
    for number in range(count):
        if number % 200 == 0:
            policy = random_policy(rng)
            names = tuple(zone.name for zone in policy.zones)
        yield policy, random_want(rng, names), random_path(rng), rng.choice(_DAYS)


def random_want(rng: random.Random, zones: tuple[str, ...]) -> Want:
    """What a task asks."""
    sources = tuple(
        Source(f"s{i}", _some(rng, (), 1, 2), rng.choice(_CLASSES))
        for i in range(rng.randint(0, 2))
    )
    basis = TransferBasis(
        basis=rng.choice(("", *_BASES)),
        reference=rng.choice(("", "contract")),
        expires=rng.choice(("", *_DAYS)),
    )
    return Want(
        within=_some(rng, zones, 0, 2),
        not_within=_some(rng, zones, 0, 2),
        basis=basis,
        sources=sources,
    )


def random_path(rng: random.Random) -> str:
    """A place of one to three parts, rarely four."""
    country = rng.choice(_COUNTRIES)
    parts = [country]
    if rng.random() < 0.8:
        parts.append(rng.choice(_PARTS[country]))
        if rng.random() < 0.7:
            parts.append(rng.choice(_SITES))
            if rng.random() < 0.2:
                parts.append("hall-1")
    return "/".join(parts)


def _random_rule(rng: random.Random, name: str, zones: tuple[str, ...]) -> TransferRule:
    wild = (*zones, "*")
    return TransferRule(
        name=name,
        data_classes=tuple(rng.sample(_CLASSES, rng.randint(1, 2))),
        source=_some(rng, wild, 1, 2),
        to=_some(rng, wild, 1, 2),
        outside=_some(rng, zones, 0, 2),
        bases=tuple(rng.sample(_BASES, rng.randint(0, 2))),
        expires=rng.choice(("", "", *_DAYS)),
    )


def _some(rng: random.Random, names: tuple[str, ...], least: int, most: int) -> tuple[str, ...]:
    count = rng.randint(least, most)
    named = (rng.choice(names) if names and rng.random() < 0.6 else "" for _ in range(count))
    return tuple(dict.fromkeys(name or random_path(rng) for name in named))
