"""The federation's residency policy as a value: zones, data classes, transfer rules.

Its canonical bytes are what is stored and what travels; their SHA-256 is what grants and placement
records cite. Text files are read by `reading`; verdicts come from `compiled`. Must not judge.
"""

import json
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

ANYWHERE = "*"
"""As an area of a rule: every place that is known."""
TYPE = "intertie.policy/v1"
NO_POLICY = sha256(b"").hexdigest()
"""Cited where no policy was ever set: only the task's own bounds were judged."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A named set of places: `EU` is its members' paths and all that lies below them."""

    name: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRule:
    """Data of some classes may move between two areas. What no rule names may not move.

    Args:
        name: by which verdicts name it.
        data_classes: for which classes it holds.
        source: areas (zones, paths, or `*`) where the data is.
        to: areas where it may go.
        outside: areas where it may not go in spite of `to`.
        bases: a task must claim one of these; empty = nothing need be claimed.
        reference: the law or contract that the rule rests on, for people.
        expires: the last day on which it holds, `YYYY-MM-DD`; empty = until it is taken out.
    """

    name: str
    data_classes: tuple[str, ...]
    source: tuple[str, ...]
    to: tuple[str, ...]
    outside: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    reference: str = ""
    expires: str = ""


@dataclass(frozen=True, eq=False)
class Policy:
    """A version of the policy. Two are equal if their canonical bytes are."""

    zones: tuple[Zone, ...] = ()
    data_classes: tuple[tuple[str, str], ...] = ()
    rules: tuple[TransferRule, ...] = ()
    description: str = ""
    _zone_names: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_zone_names", frozenset(zone.name for zone in self.zones))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and other.sha256 == self.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    @cached_property
    def canonical(self) -> bytes:
        """The one form of its bytes: JSON with sorted keys, no spaces, UTF-8."""
        return json.dumps(
            self.to_fields(), ensure_ascii=False, separators=(",", ":"), sort_keys=True
        ).encode()

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the canonical bytes; of the policy without content that of no bytes."""
        if not (self.zones or self.data_classes or self.rules or self.description):
            return NO_POLICY
        return sha256(self.canonical).hexdigest()

    @property
    def is_set(self) -> bool:
        """Whether anybody ever set it."""
        return self.sha256 != NO_POLICY

    def has_zone(self, name: str) -> bool:
        """Whether a zone has this name."""
        return name in self._zone_names

    def to_fields(self) -> dict[str, Any]:
        """As in a policy file; what is empty is left out."""
        fields: dict[str, Any] = {"type": TYPE}
        if self.description:
            fields["description"] = self.description
        fields["zones"] = {zone.name: list(zone.paths) for zone in self.zones}
        fields["data_classes"] = dict(self.data_classes)
        fields["transfers"] = [_rule_fields(rule) for rule in self.rules]
        return fields


def _rule_fields(rule: TransferRule) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": rule.name,
        "data": list(rule.data_classes),
        "from": list(rule.source),
        "to": list(rule.to),
        "except": list(rule.outside),
        "basis": list(rule.bases),
        "reference": rule.reference,
        "expires": rule.expires,
    }
    return {name: value for name, value in fields.items() if value}


NONE = Policy()
"""Before any policy was set: no zones, and no transfer is allowed."""
