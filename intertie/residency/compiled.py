"""Verdicts, fast: a policy turned into a table of path prefixes and bits of areas.

One evaluator for the router, a region on admission, and every egress. No rule = no. The dumb one
in the tests says the same on every generated case. Must not know of clocks: the day is given.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from intertie.model.jurisdiction import covers, path_fault
from intertie.model.spec import TransferBasis
from intertie.residency.paths import Ruling
from intertie.residency.policy import ANYWHERE, Policy, TransferRule
from intertie.residency.want import Source, Want

_KEPT_PATHS = 20_000
_FREE = Ruling(True, "any", "the task has no residency bounds")


@dataclass(frozen=True, slots=True)
class _Place:
    """What a path lies in, and which areas lie within it without covering it, as bits."""

    inside: int
    overlaps: int


@dataclass(frozen=True, slots=True)
class _Rule:
    source: int
    to: int
    outside: int
    from_all: bool
    to_all: bool
    rule: TransferRule


class Compiled:
    """See the module's text. Made once for a policy by `compiled`."""

    def __init__(self, policy: Policy) -> None:
        self._zones = {zone.name: zone.paths for zone in policy.zones}
        self._bits: dict[str, int] = {}
        self._covering: dict[str, int] = {}
        self._below: dict[str, int] = {}
        self._places: dict[str, _Place | str] = {}
        self._rules: dict[str, list[_Rule]] = {}
        for zone in policy.zones:
            self._bit(zone.name)
        for rule in policy.rules:
            made = _Rule(
                self._mask(rule.source),
                self._mask(rule.to),
                self._mask(rule.outside),
                ANYWHERE in rule.source,
                ANYWHERE in rule.to,
                rule,
            )
            for data_class in rule.data_classes:
                self._rules.setdefault(data_class, []).append(made)

    # --- questions -------------------------------------------------------------------------------

    def at(self, want: Want, path: str, on: str) -> Ruling:
        """May a task with this want run at a place?"""
        if not (want.within or want.not_within or want.sources):
            return _FREE
        bounds = self.bounds(want, path)
        if not bounds.allowed:
            return bounds
        moved: list[Ruling] = []
        for source in want.sources:
            ruling = self._input(source, want.basis, path, on)
            if not ruling.allowed:
                return ruling
            moved.append(ruling)
        if not moved:
            return bounds
        parts = [ruling for ruling in (bounds, *moved) if ruling is not _FREE]
        return Ruling(True, _joined(r.rule for r in parts), _joined(r.reason for r in parts))

    def bounds(self, want: Want, path: str) -> Ruling:
        """Does a place hold `within` and `not_within`? Zones are looked up before paths."""
        if not want.within and not want.not_within:
            return _FREE
        place = self._place(path)
        if isinstance(place, str):
            return Ruling(False, "jurisdiction", f"the place is not known: {place}")
        for area in want.not_within:
            if not self._is_known(area):
                return self._unknown("not_within", area)
            if self._inside(area, path, place):
                return Ruling(False, f"not_within {area}", f"{path} is within {area}")
        for area in want.not_within:
            if self._overlaps(area, path, place):
                reason = f"{path} is not known to be outside of {area}"
                return Ruling(False, f"not_within {area}", reason)
        home = next((area for area in want.within if self._inside(area, path, place)), "")
        if want.within and not home:
            unknown = next((area for area in want.within if not self._is_known(area)), "")
            if unknown:
                return self._unknown("within", unknown)
            areas = ", ".join(want.within)
            return Ruling(False, f"within {areas}", f"{path} is not within {areas}")
        rule = f"within {home}" if home else f"not_within {', '.join(want.not_within)}"
        return Ruling(True, rule, f"{path} holds {rule}")

    def transfer(
        self, data_class: str, basis: TransferBasis, source: str, to: str, on: str
    ) -> Ruling:
        """May data of a class move from one place to another? Where it is, it may stay."""
        here, there = self._place(source), self._place(to)
        for path, place in ((source, here), (to, there)):
            if isinstance(place, str):
                return Ruling(False, "jurisdiction", f"the place {path!r} is not known: {place}")
        assert isinstance(here, _Place), "checked above"
        assert isinstance(there, _Place), "checked above"
        if source == to:
            return Ruling(True, "same place", f"{data_class} data stays at {to}")
        near = ""
        for made in self._rules.get(data_class, ()):
            if not _reaches(made, here, there):
                continue
            lack = _lack(made.rule, basis, on)
            if not lack:
                name = f"transfer {made.rule.name}"
                return Ruling(True, name, f"{data_class} data may move from {source} to {to}")
            near = near or f"{made.rule.name} {lack}"
        moved = f"{data_class} data may not move from {source} to {to}"
        if near:
            return Ruling(False, f"transfer {near.split(' ', 1)[0]}", f"{moved}: rule {near}")
        return Ruling(False, "no transfer rule", f"{moved}: no rule allows it")

    def _input(self, source: Source, basis: TransferBasis, path: str, on: str) -> Ruling:
        """One copy that may come is enough."""
        rulings: list[Ruling] = []
        for place in source.places:
            ruling = self.transfer(source.data_class, basis, place, path, on)
            if ruling.allowed:
                return ruling
            rulings.append(ruling)
        assert rulings, "an input without a place is no source"
        first = rulings[0]
        return Ruling(False, first.rule, f"input {source.name}: {first.reason}")

    def paths(self, areas: Sequence[str]) -> tuple[str, ...]:
        """The paths of areas: of a zone its members, of a path itself."""
        named = (path for area in areas for path in self._zones.get(area, (area,)))
        return tuple(dict.fromkeys(named))

    # --- the table -------------------------------------------------------------------------------

    def _mask(self, areas: Sequence[str]) -> int:
        mask = 0
        for area in areas:
            if area != ANYWHERE:
                mask |= self._bit(area)
        return mask

    def _bit(self, area: str) -> int:
        known = self._bits.get(area)
        if known is not None:
            return known
        bit = self._bits[area] = 1 << len(self._bits)
        for path in self._zones.get(area, (area,)):
            self._covering[path] = self._covering.get(path, 0) | bit
            for above in _above(path):
                self._below[above] = self._below.get(above, 0) | bit
        return bit

    def _place(self, path: str) -> _Place | str:
        """The bits of a path, or what is wrong with it."""
        known = self._places.get(path)
        if known is not None:
            return known
        if len(self._places) >= _KEPT_PATHS:
            self._places.clear()
        made: _Place | str = path_fault(path)
        if not made:
            inside = self._covering.get(path, 0)
            for above in _above(path):
                inside |= self._covering.get(above, 0)
            made = _Place(inside, self._below.get(path, 0) & ~inside)
        self._places[path] = made
        return made

    def _is_known(self, area: str) -> bool:
        return area in self._zones or not path_fault(area)

    def _inside(self, area: str, path: str, place: _Place) -> bool:
        bit = self._bits.get(area)
        if bit is None:
            return covers(area, path)
        return bool(place.inside & bit)

    def _overlaps(self, area: str, path: str, place: _Place) -> bool:
        bit = self._bits.get(area)
        if bit is None:
            return covers(path, area) and path != area
        return bool(place.overlaps & bit)

    def _unknown(self, field: str, area: str) -> Ruling:
        return Ruling(False, f"{field} {area}", f"the policy has no zone {area!r}")


def _reaches(made: _Rule, here: _Place, there: _Place) -> bool:
    """Whether a rule is about these two places. A place known only roughly is in none of its parts
    and may be in each part that is excepted.
    """
    if not (made.from_all or made.source & here.inside):
        return False
    if not (made.to_all or made.to & there.inside):
        return False
    return not made.outside & (there.inside | there.overlaps)


def _lack(rule: TransferRule, basis: TransferBasis, on: str) -> str:
    """What keeps a rule from holding for a task on a day; empty if nothing does."""
    if rule.expires and on > rule.expires:
        return f"expired on {rule.expires}"
    if not rule.bases:
        return ""
    if basis.basis not in rule.bases:
        return f"needs transfer_basis.basis {' or '.join(rule.bases)}"
    if not basis.reference:
        return f"needs transfer_basis.reference for {basis.basis}"
    if basis.expires and on > basis.expires:
        return f"needs a basis that holds: {basis.basis} expired on {basis.expires}"
    return ""


def _above(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))


@lru_cache(maxsize=32)
def compiled(policy: Policy) -> Compiled:
    """The table of a policy, made once."""
    return Compiled(policy)
