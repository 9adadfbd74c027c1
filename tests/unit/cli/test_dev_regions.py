"""Plans of several regions, and the description of a federation that follows from one."""

import json
from pathlib import Path

import pytest

from intertie.cli.dev.delays import write_delays
from intertie.cli.dev.identities import people
from intertie.cli.dev.layout import Layout, describe, describe_plan
from intertie.cli.dev.plan import read_plan
from intertie.errors import IntertieError, Reason

EXAMPLE = Path(__file__).parents[3] / "examples" / "regions.toml"

TWO = """
federation = "north"
[[region]]
id = "north"
jurisdiction = "DE/DE-HH"
coordinates = [53.5, 10.0]
agents = 2
sites = ["DE/DE-HH/port"]
[[region]]
id = "south"
jurisdiction = "DE/DE-BY"
coordinates = [48.1, 11.6]
agents = 1
[[rtt]]
between = ["south", "north"]
ms = 12
source = "test"
"""


def plan_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "regions.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_plan_has_four_regions_and_every_pair_says_its_source() -> None:
    plan = read_plan(EXAMPLE)
    assert [(region.id, region.jurisdiction, region.agents) for region in plan.region] == [
        ("suzhou-edge", "CN/CN-JS/suzhou-park", 2),
        ("suzhou-core", "CN/CN-JS/suzhou-park", 2),
        ("cn-guian", "CN/CN-GZ", 2),
        ("eu-frankfurt", "DE/DE-HE", 2),
    ]
    assert len(plan.round_trips()) == 6
    assert all(rtt.source for rtt in plan.rtt)


def test_a_described_plan_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    layout = Layout.at(tmp_path)
    made = describe_plan(read_plan(plan_of(tmp_path, TWO)))
    layout.save(made)
    assert layout.load() == made
    assert list(made.agents) == ["north-1", "north-2", "south-1"]
    assert made.regions["north"].agents["north-1"].site == "DE/DE-HH/port"
    assert made.regions["north"].agents["north-2"].site == "DE/DE-HH"


def test_one_region_is_described_without_a_proxy_and_format_1_is_still_read(tmp_path: Path) -> None:
    layout = Layout.at(tmp_path)
    made = describe(2)
    layout.save(made)
    assert layout.load() == made
    assert not made.is_delayed
    old = {
        "etcd": [1, 2, 3],
        "federation": {"grpc": 4, "telemetry": 5},
        "region": {"grpc": 6, "telemetry": 7},
        "agents": {"agent-1": {"grpc": 0, "telemetry": 8}},
        "format": 1,
    }
    layout.description_file.write_text(json.dumps(old), encoding="utf-8")
    loaded = layout.load()
    assert loaded.region.grpc == 6
    assert loaded.agents["agent-1"].telemetry == 8
    assert loaded.regions["region"].id == "suzhou-core"


def test_each_region_has_identities_of_its_own_authority(tmp_path: Path) -> None:
    made = describe_plan(read_plan(plan_of(tmp_path, TWO)))
    by_name = {person.name: person for person in people(made)}
    assert by_name["south"].authority == "south"
    assert by_name["south-1"].spiffe_id == "spiffe://south.intertie.example/node/south-1"
    assert by_name["operator-north"].authority == "north"


def test_links_pass_the_proxy_with_half_a_round_trip_each_way(tmp_path: Path) -> None:
    layout = Layout.at(tmp_path)
    made = describe_plan(read_plan(plan_of(tmp_path, TWO)))
    write_delays(layout, made)
    written = json.loads(layout.delays_file.read_text(encoding="utf-8"))
    assert {route["origin"]: route["listen"] for route in written["routes"]} == {
        name: region.uplink for name, region in made.regions.items()
    }
    assert {(p["from"], p["to"]): p["delay_ms"] for p in written["paths"]} == {
        ("north", "south"): 6,
        ("south", "north"): 6,
    }


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('federation = "north"', 'federation = "west"', "west is none of north, south"),
        ('id = "south"', 'id = "north"', "two regions have the same id"),
        ('id = "south"', 'id = "etcd"', "dev needs this name itself"),
        ('id = "south"', 'id = "So"', "region.1.id: "),
        ('"DE/DE-BY"', '"Bavaria"', "region.1.jurisdiction: "),
        ('"DE/DE-HH/port"', '"DE/DE-BE/x"', "is not below DE/DE-HH"),
        ("ms = 12", "ms = -1", "rtt.0.ms: "),
        ("ms = 12", "ms = nan", "rtt.0.ms: "),
        ('["south", "north"]', '["south", "south"]', "is no pair of regions"),
        ("[48.1, 11.6]", "[148.1, 11.6]", "region.1.coordinates.0: "),
        ("agents = 1", "agents = 0", "region.1.agents: "),
        ("agents = 1", "agent = 1", "region.1.agent: "),
    ],
)
def test_a_faulty_plan_is_refused_and_names_the_field(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    assert old in TWO
    with pytest.raises(IntertieError) as caught:
        read_plan(plan_of(tmp_path, TWO.replace(old, new)))
    assert caught.value.reason is Reason.CONFIG_INVALID
    assert why in str(caught.value)
