"""Policy files: YAML to a `Policy`, files of test cases, and their JSON Schemas.

Every fault names its line and path. Must not judge: `intertie.residency` does.
"""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from intertie.errors import CallerError, Reason, error
from intertie.model.spec import DataItem, Residency, TransferBasis
from intertie.residency import Policy, Ruling, Stop, decide, may_leave, want
from intertie.residency.reading import read_policy
from intertie.sdk.specfile import load_value, located
from intertie.sdk.strictyaml import MAX_BYTES, Node, parse
from intertie.sdk.taskschema import DRAFT


def load_policy(path: Path) -> Policy:
    """Read and check a policy file."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise error(Reason.NOT_FOUND, f"{path}: {problem.strerror}.") from None
    return parse_policy(data, str(path))


def parse_policy(data: bytes, source: str = "policy.yaml") -> Policy:
    """The policy of a YAML text; CallerError with all faults, each with its line and path."""
    root = parse(data, source)
    try:
        return read_policy(_plain(root))
    except CallerError as fault:
        raise located(fault, root, source) from None


def dump_policy(policy: Policy) -> str:
    """A policy as the text of a file; reading it gives the same policy."""
    fields = policy.to_fields()
    del fields["type"]
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)


def _plain(node: Node) -> Any:  # noqa: ANN401 - plain data of any form
    match node.value:
        case dict():
            return {name: _plain(inner) for name, inner in node.value.items()}
        case list():
            return [_plain(inner) for inner in node.value]
        case Decimal():
            return str(node.value)
        case _:
            return node.value


# --- cases ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One line of a file of cases: a place for a task, or a move of data, and what is expected.

    With `place`, may a task with these bounds and, from `source`, this data be there? Without, may
    bytes of a task at `source` leave for `to`? `expect` is `allowed` or `refused`; `rule`, if
    given, is the rule that must decide. `day` is the day that counts.
    """

    expect: str
    name: str = ""
    place: str = ""
    source: str = ""
    to: str = ""
    within: tuple[str, ...] = ()
    not_within: tuple[str, ...] = ()
    data_class: str = ""
    basis: str = ""
    reference: str = ""
    basis_expires: str = ""
    rule: str = ""
    day: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """A file of cases; `day` is the day of all that name none."""

    cases: tuple[Case, ...]
    day: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A case with its verdict."""

    number: int
    case: Case
    ruling: Ruling

    @property
    def holds(self) -> bool:
        """Whether the verdict, and the rule if one is named, are the expected ones."""
        verdict = "allowed" if self.ruling.allowed else "refused"
        named = not self.case.rule or self.case.rule == self.ruling.rule
        return verdict == self.case.expect and named


def load_cases(path: Path) -> Cases:
    """Read a file of cases."""
    cases = load_value(path, Cases)
    for i, case in enumerate(cases.cases):
        if case.expect not in ("allowed", "refused"):
            told = f"{path}: cases[{i}].expect: {case.expect[:40]!r} is not allowed or refused."
            raise error(Reason.INVALID_FIELD, told)
        if not case.place and not (case.source and case.to):
            told = f"{path}: cases[{i}]: give a place, or source and to."
            raise error(Reason.INVALID_FIELD, told)
    return cases


def judge(policy: Policy, cases: Cases, today: str) -> list[Judged]:
    """Every case with its verdict, in order."""
    return [
        Judged(number, case, _ruling(policy, case, case.day or cases.day or today))
        for number, case in enumerate(cases.cases, 1)
    ]


def _ruling(policy: Policy, case: Case, day: str) -> Ruling:
    basis = TransferBasis(basis=case.basis, reference=case.reference, expires=case.basis_expires)
    residency = Residency(
        within=case.within,
        not_within=case.not_within,
        data_class=case.data_class,
        transfer_basis=basis,
    )
    if not case.place:
        return may_leave(policy, want(residency), case.source, [Stop("reader", case.to)], day)
    items = (DataItem(name="data", at=(case.source,)),) if case.source else ()
    return decide(policy, want(residency, items), case.place, day)


# --- schema --------------------------------------------------------------------------------------

_AREAS = {
    "description": "Zones, or paths such as DE or CN/CN-JS/suzhou-park.",
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
}


def policy_schema() -> dict[str, Any]:
    """The schema of policy files; `intertie schema policy` prints it."""
    name = {"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,62}$"}
    text = {"type": "string"}
    rule = {
        "type": "object",
        "description": "Data of these classes may move so. What no rule names may not move.",
        "additionalProperties": False,
        "required": ["name", "data", "from", "to"],
        "properties": {
            "name": name,
            "data": {**_AREAS, "description": "Data classes."},
            "from": {**_AREAS, "description": "Where the data is; * is everywhere."},
            "to": {**_AREAS, "description": "Where it may go; * is everywhere."},
            "except": {**_AREAS, "description": "Where it may not go in spite of `to`."},
            "basis": {**_AREAS, "description": "The task must claim one of these."},
            "reference": {**text, "description": "The law or contract behind it."},
            "expires": {**text, "description": "The last day, as 2027-12-31."},
        },
    }
    return {
        "$schema": DRAFT,
        "$id": "urn:intertie:schema:policy",
        "title": "Intertie residency policy",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "type": {"const": "intertie.policy/v1"},
            "description": text,
            "zones": {"type": "object", "additionalProperties": _AREAS},
            "data_classes": {"type": "object", "additionalProperties": text},
            "transfers": {"type": "array", "items": rule},
        },
    }
