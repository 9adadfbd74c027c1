"""SPIFFE IDs: every legal shape parses and prints back, everything else is refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import IntertieError, Reason
from intertie.pki.spiffe import Role, parse, region_trust_domain

TD = "intertie.example"


@pytest.mark.parametrize(
    ("text", "role", "name", "project", "region", "dns"),
    [
        ("/federation/r1", Role.FEDERATION, "r1", None, None, f"r1.federation.{TD}"),
        ("/admin/ann", Role.ADMIN, "ann", None, None, f"ann.admin.{TD}"),
        ("/project/genome/bob", Role.PROJECT, "bob", "genome", None, f"bob.genome.project.{TD}"),
        ("/billing/erp", Role.BILLING, "erp", None, None, f"erp.billing.{TD}"),
        ("/witness/w1", Role.WITNESS, "w1", None, None, f"w1.witness.{TD}"),
    ],
)
def test_each_path_of_the_federation_stands_for_its_role(
    text: str, role: Role, name: str, project: str | None, region: str | None, dns: str
) -> None:
    spiffe_id = parse(f"spiffe://{TD}{text}", TD)
    assert (spiffe_id.role, spiffe_id.name) == (role, name)
    assert (spiffe_id.project, spiffe_id.region) == (project, region)
    assert spiffe_id.dns_name == dns
    assert str(spiffe_id) == f"spiffe://{TD}{text}"


@pytest.mark.parametrize(
    ("path", "role", "name", "dns"),
    [
        ("/scheduler", Role.SCHEDULER, "scheduler", f"scheduler.eu-1.{TD}"),
        ("/operator/olga", Role.OPERATOR, "olga", f"olga.operator.eu-1.{TD}"),
        ("/node/n-17", Role.NODE, "n-17", f"n-17.node.eu-1.{TD}"),
    ],
)
def test_each_path_of_a_region_stands_for_its_role(
    path: str, role: Role, name: str, dns: str
) -> None:
    spiffe_id = parse(f"spiffe://eu-1.{TD}{path}", TD)
    assert (spiffe_id.role, spiffe_id.name, spiffe_id.region) == (role, name, "eu-1")
    assert spiffe_id.dns_names == (dns,)


def test_only_replicas_share_the_federation_s_name() -> None:
    replica = parse(f"spiffe://{TD}/federation/r1", TD)
    person = parse(f"spiffe://{TD}/admin/ann", TD)
    assert replica.dns_names == (f"r1.federation.{TD}", f"federation.{TD}")
    assert f"federation.{TD}" not in person.dns_names


@pytest.mark.parametrize(
    "text",
    [
        "",
        "spiffe://",
        f"spiffe://{TD}",
        f"spiffe://{TD}/",
        f"https://{TD}/admin/ann",
        f"SPIFFE://{TD}/admin/ann",
        f"spiffe://{TD.upper()}/admin/ann",
        f"spiffe://{TD}:443/admin/ann",
        f"spiffe://ann@{TD}/admin/ann",
        f"spiffe://{TD}/admin/ann/",
        f"spiffe://{TD}/admin//ann",
        f"spiffe://{TD}//admin/ann",
        f"spiffe://{TD}/admin/..",
        f"spiffe://{TD}/admin/ann?role=federation",
        f"spiffe://{TD}/admin/ann#x",
        f"spiffe://{TD}/admin/ann%2f",
        f"spiffe://{TD}/admin/Ann",
        f"spiffe://{TD}/admin/ann\n",
        f"spiffe://{TD}/admin",
        f"spiffe://{TD}/project/genome",
        f"spiffe://{TD}/project/genome/bob/more",
        f"spiffe://{TD}/scheduler",
        f"spiffe://{TD}/anonymous/x",
        f"spiffe://eu.{TD}/admin/ann",
        f"spiffe://eu.{TD}/scheduler/x",
        f"spiffe://eu.{TD}/federation/r1",
        f"spiffe://x.eu.{TD}/scheduler",
        f"spiffe://Eu.{TD}/scheduler",
        f"spiffe://federation.{TD}/scheduler",
        "spiffe://other.example/admin/ann",
        f"spiffe://evil{TD}/admin/ann",
        f"spiffe://{TD}/admin/{'a' * 64}",
        f"spiffe://{TD}/admin/{'a' * 3000}",
    ],
)
def test_any_other_shape_is_refused(text: str) -> None:
    with pytest.raises(IntertieError) as caught:
        parse(text, TD)
    assert caught.value.reason is Reason.IDENTITY_INVALID
    assert caught.value.remedy


@given(st.text(max_size=60))
def test_what_parses_prints_back_unchanged(tail: str) -> None:
    for text in (f"spiffe://{TD}/{tail}", f"spiffe://{tail}", f"spiffe://eu.{TD}/node/{tail}"):
        with suppress(IntertieError):
            assert str(parse(text, TD)) == text


@pytest.mark.parametrize("region", ["federation", "admin", "e", "1eu", "Eu", "eu.x", ""])
def test_a_region_cannot_take_a_name_that_reads_as_something_else(region: str) -> None:
    with pytest.raises(IntertieError, match="region id"):
        region_trust_domain(region, TD)
