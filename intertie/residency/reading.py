"""From the fields of a policy file, or of stored bytes, to a `Policy`; every fault by its path.

Zones may name zones that are written before them; in the policy they are paths only. Reading text
is `intertie.sdk.policy.file`'s. Must not judge any transfer.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from intertie.errors import IntertieError, Reason, invalid
from intertie.model.jurisdiction import ZONE, Jurisdiction, path_fault
from intertie.model.tags import nearest
from intertie.model.validate.iso3166 import code_fault, countries
from intertie.model.validate.violations import Violations
from intertie.residency.policy import ANYWHERE, NONE, TYPE, Policy, TransferRule, Zone

MAX_PATHS, MAX_RULES = 20_000, 5_000
_DAY = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_TOP = ("type", "description", "zones", "data_classes", "transfers")
_RULE = ("name", "data", "from", "to", "except", "basis", "reference", "expires")
_LISTS = ("data", "from", "to", "except", "basis")
_ZONE_REMEDY = "Write paths such as DE or CN/CN-JS, or zones that are written before."


def read_policy(fields: object) -> Policy:
    """The policy of a file's fields. Raises one CallerError with every fault by its path."""
    found = Violations()
    policy = _Reading(found).policy(fields)
    found.raise_if_any()
    return policy


@lru_cache(maxsize=8)
def decode_policy(data: bytes) -> Policy:
    """The policy of canonical bytes; no bytes are no policy. INVALID_FIELD if they are not such."""
    if not data:
        return NONE
    try:
        policy = read_policy(json.loads(data))
    except (ValueError, RecursionError, IntertieError) as fault:
        raise invalid("policy", f"is no policy: {fault}") from None
    if policy.canonical != data:
        raise invalid("policy", "is not in its canonical form")
    return policy


class _Reading:
    """One walk; noted faults make what is returned of no use."""

    def __init__(self, found: Violations) -> None:
        self._found = found
        self._zones: dict[str, tuple[str, ...]] = {}
        self._classes: dict[str, str] = {}

    def policy(self, fields: object) -> Policy:
        top = self._group("", fields, _TOP)
        if top.get("type", TYPE) != TYPE:
            self._found.add("type", f"must be {TYPE}")
        for name, value in self._names("zones", top.get("zones")):
            self._zone(name, value)
        for name, value in self._names("data_classes", top.get("data_classes")):
            self._named(f"data_classes.{name}", name)
            self._classes[name] = self._text(f"data_classes.{name}", value)
        return Policy(
            zones=tuple(Zone(name, paths) for name, paths in sorted(self._zones.items())),
            data_classes=tuple(sorted(self._classes.items())),
            rules=self._rules(top.get("transfers")),
            description=self._text("description", top.get("description", "")),
        )

    # --- zones -----------------------------------------------------------------------------------

    def _zone(self, name: str, value: object) -> None:
        where = f"zones.{name[:80]}"
        if not ZONE.fullmatch(name):
            self._found.add(where, "a zone is called like EU or suzhou-park: letters, digits, -")
        paths: list[str] = []
        for i, text in enumerate(self._texts(where, value)):
            if text in self._zones:
                paths += self._zones[text]
            elif fault := self._path_fault(text):
                self._found.add(f"{where}[{i}]", fault, remedy=_ZONE_REMEDY)
            else:
                paths.append(text)
        if not paths:
            self._found.add(where, "must name at least one place")
        if name in countries() and any(path.split("/")[0] != name for path in paths):
            self._found.add(
                where, f"{name} is a country of ISO 3166-1: a zone of this name lies in it"
            )
        if sum(map(len, self._zones.values())) + len(paths) > MAX_PATHS:
            self._found.too_large(where, f"the limit is {MAX_PATHS} paths in all zones")
            return
        self._zones[name] = tuple(dict.fromkeys(paths))

    def _path_fault(self, text: str) -> str:
        fault = path_fault(text) or code_fault(Jurisdiction(tuple(text.split("/"))))
        return f"{fault}{nearest(text, self._zones)}" if fault else ""

    # --- rules -----------------------------------------------------------------------------------

    def _rules(self, value: object) -> tuple[TransferRule, ...]:
        if value is None:
            return ()
        if not isinstance(value, list):
            self._found.add("transfers", "must be a list of rules")
            return ()
        if len(value) > MAX_RULES:
            self._found.too_large("transfers", f"the limit is {MAX_RULES} rules")
            return ()
        rules = [self._rule(f"transfers[{i}]", item) for i, item in enumerate(value)]
        seen: set[str] = set()
        for i, rule in enumerate(rules):
            if rule.name in seen:
                self._found.add(f"transfers[{i}].name", f"there is a rule {rule.name!r} already")
            seen.add(rule.name)
        return tuple(rules)

    def _rule(self, where: str, value: object) -> TransferRule:
        fields = self._group(where, value, _RULE)
        lists = {n: self._texts(f"{where}.{n}", fields.get(n, [])) for n in _LISTS}
        name = self._text(f"{where}.name", fields.get("name", ""))
        self._named(f"{where}.name", name)
        for required in ("data", "from", "to"):
            if not lists[required]:
                self._found.add(f"{where}.{required}", "must be given; no rule is a refusal")
        for i, data_class in enumerate(lists["data"]):
            if data_class not in self._classes:
                hint = nearest(data_class, self._classes)
                told = f"there is no data class {data_class[:80]!r}{hint}"
                self._found.add(f"{where}.data[{i}]", told, remedy="Name it in data_classes.")
        for field in ("from", "to", "except"):
            for i, area in enumerate(lists[field]):
                self._area(f"{where}.{field}[{i}]", area, wild=field != "except")
        for i, basis in enumerate(lists["basis"]):
            self._named(f"{where}.basis[{i}]", basis)
        expires = self._text(f"{where}.expires", fields.get("expires", ""))
        if expires and not _DAY.fullmatch(expires):
            self._found.add(f"{where}.expires", f"{expires[:40]!r} is no day, like 2027-12-31")
        return TransferRule(
            name=name,
            data_classes=lists["data"],
            source=lists["from"],
            to=lists["to"],
            outside=lists["except"],
            bases=lists["basis"],
            reference=self._text(f"{where}.reference", fields.get("reference", "")),
            expires=expires,
        )

    def _area(self, where: str, area: str, *, wild: bool) -> None:
        if area in self._zones or (wild and area == ANYWHERE):
            return
        fault = self._path_fault(area)
        if fault:
            self._found.add(where, f"no zone and no place: {fault}")

    # --- forms -----------------------------------------------------------------------------------

    def _group(self, where: str, value: object, known: tuple[str, ...]) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            self._found.add(where or "policy", "must have fields, one a line")
            return {}
        for name in value:
            if name not in known:
                below = f"{where}.{name}" if where else str(name)
                told = f"there is no such field{nearest(str(name), known)}"
                self._found.add(below[:200], told, Reason.UNKNOWN_FIELD)
        return value

    def _names(self, where: str, value: object) -> Iterable[tuple[str, object]]:
        if value is None:
            return ()
        if not isinstance(value, dict):
            self._found.add(where, "must be names with values")
            return ()
        return [(str(name), inner) for name, inner in value.items()]

    def _texts(self, where: str, value: object) -> tuple[str, ...]:
        items = value if isinstance(value, list) else [value]
        good = [item for item in items if isinstance(item, str)]
        if len(good) < len(items):
            self._found.add(where, "must be a list of texts")
        return tuple(good)

    def _text(self, where: str, value: object) -> str:
        if isinstance(value, str):
            return value
        self._found.add(where, "must be text")
        return ""

    def _named(self, where: str, name: str) -> None:
        if not _NAME.fullmatch(name):
            self._found.add(where, f"{name[:80]!r} is no name (a-z, 0-9, - and _)")
