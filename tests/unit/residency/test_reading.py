"""Policy files: what they mean, what is wrong with them and where, and their canonical bytes."""

from pathlib import Path

import pytest

from intertie.errors import CallerError
from intertie.model.spec import DataItem, Residency, RunSpec, TaskSpec
from intertie.residency import NO_POLICY, NONE
from intertie.residency.areas import check_against
from intertie.residency.reading import decode_policy
from intertie.sdk.policy.file import (
    dump_policy,
    judge,
    load_cases,
    load_policy,
    parse_policy,
    policy_schema,
)

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("zones: {EU: [DE, FRA]}", "policy.yaml:1: zones.EU[1]: 'FRA' is not a jurisdiction path"),
        ("zones:\n  EU: [XX]", "policy.yaml:2: zones.EU[0]: XX: ISO 3166-1 has no country XX"),
        ("zones: {EU: [DE], A: [EUU]}", "the nearest is EU"),
        ("zones: {CN: [DE]}", "CN is a country"),
        ("zones: {E U: [DE]}", "a zone is called like EU"),
        ("zonse: {}", "there is no such field; the nearest is zones"),
        (
            "data_classes: {personal: x}\ntransfers:\n- {name: a, data: personel, from: DE, to: D}",
            "policy.yaml:3: transfers[0].data[0]: there is no data class 'personel'; the nearest is"
            " personal",
        ),
        ("transfers: [{name: a}]", "transfers[0].from: must be given"),
        ("transfers: {}", "must be a list"),
        ("zones: []", "must be names with values"),
        (
            "data_classes: {p: x}\ntransfers:\n- {name: a, data: p, from: DE, to: DE, expires: no}",
            "policy.yaml:3: transfers[0].expires: 'no' is no day",
        ),
        (
            "data_classes: {p: x}\ntransfers:\n- {name: a, data: p, from: DE, to: DE}\n"
            "- {name: a, data: p, from: DE, to: DE}",
            "policy.yaml:4: transfers[1].name: there is a rule 'a' already",
        ),
        ("zones: {A: [DE], A: [FR]}", "policy.yaml:1"),
    ],
)
def test_a_fault_names_its_line_its_path_and_the_nearest(text: str, told: str) -> None:
    with pytest.raises(CallerError) as caught:
        parse_policy(text.encode())
    assert told in str(caught.value)


def test_zones_may_name_zones_that_are_written_before() -> None:
    policy = parse_policy(b'zones: {EU: [DE, FR], EEA: [EU, IS, "NO"]}')
    assert {zone.name: zone.paths for zone in policy.zones}["EEA"] == ("DE", "FR", "IS", "NO")


def test_canonical_bytes_and_the_written_file_give_the_same_policy_and_digest() -> None:
    policy = load_policy(EXAMPLES / "policy.yaml")
    assert decode_policy(policy.canonical) == policy
    assert parse_policy(dump_policy(policy).encode()) == policy
    assert policy.sha256 != NO_POLICY


def test_no_bytes_are_no_policy_and_other_forms_of_the_bytes_are_refused() -> None:
    assert decode_policy(b"") is NONE
    assert NONE.sha256 == NO_POLICY
    for data in (b"{", b"[]", b'{"zones": {}}', b"[" * 100_000):
        with pytest.raises(CallerError):
            decode_policy(data)


def test_the_example_says_what_its_cases_expect() -> None:
    cases = load_cases(EXAMPLES / "policy-cases.yaml")
    judged = judge(load_policy(EXAMPLES / "policy.yaml"), cases, "2026-12-01")
    assert len(judged) > 20
    assert [each.number for each in judged if not each.holds] == []


def test_a_policy_of_five_thousand_lines_is_read() -> None:
    rules = "\n".join(f"- {{name: r{i}, data: p, from: DE, to: DE}}" for i in range(5_000))
    assert len(parse_policy(f"data_classes: {{p: x}}\ntransfers:\n{rules}".encode()).rules) == 5_000


def test_the_schema_knows_each_field_of_a_rule() -> None:
    rule = policy_schema()["properties"]["transfers"]["items"]["properties"]
    assert set(rule) == {"name", "data", "from", "to", "except", "basis", "reference", "expires"}


def _spec(residency: Residency, *items: DataItem) -> TaskSpec:
    return TaskSpec(run=RunSpec(command=("true",)), residency=residency, data=items)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (_spec(Residency(within=("EEAA",))), "residency.within[0]: there is no zone 'EEAA'"),
        (_spec(Residency(not_within=("EEAA",))), "the nearest is EEA"),
        (_spec(Residency(data_class="personl")), "the nearest is personal"),
        (
            _spec(Residency(), DataItem(name="d", at=("DE",), data_class="nosuch")),
            "data[0].data_class: the policy has no data class 'nosuch'",
        ),
        (
            _spec(Residency(within=("EU",), not_within=("EEA",))),
            "residency.within[0]: all of EU lies in residency.not_within",
        ),
    ],
)
def test_a_spec_that_names_what_the_policy_lacks_is_refused(spec: TaskSpec, told: str) -> None:
    with pytest.raises(CallerError) as caught:
        check_against(load_policy(EXAMPLES / "policy.yaml"), spec)
    assert told in str(caught.value)


def test_a_spec_that_speaks_the_language_of_the_policy_is_accepted() -> None:
    spec = _spec(Residency(within=("EEA", "CN/CN-JS"), not_within=("DE",), data_class="personal"))
    check_against(load_policy(EXAMPLES / "policy.yaml"), spec)
