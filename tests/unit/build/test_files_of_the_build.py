"""The tools that compare what is committed with what would be made now."""

from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from tools.coverage_floor import tally
from tools.environment import STAMPED_FILES, environment_digest, missing_packages
from tools.generated import GENERATED
from tools.protocol import BASELINE
from tools.stubs import compare, contents, generate

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def test_generating_the_stubs_twice_gives_the_same_files(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        generate(tmp_path / name)
    assert contents(tmp_path / "first") == contents(tmp_path / "second") != {}


def test_the_comparison_of_stubs_names_each_kind_of_difference(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert compare({"a": "1", "b": "2"}, {"b": "3", "c": "4"}) == 1
    assert capsys.readouterr().out.splitlines()[:3] == [
        "missing: a",
        "has no proto: c",
        "differs: b",
    ]
    assert compare({"a": "1"}, {"a": "1"}) == 0


def test_coverage_counts_lines_and_branches_of_each_package() -> None:
    summary = {"num_statements": 6, "num_branches": 4, "covered_lines": 5, "covered_branches": 3}
    files = {"intertie/metering/merkle.py": {"summary": summary}}
    tallies = tally(files, {"intertie": 0, "intertie.metering": 0, "intertie.meter": 0})
    assert tallies["intertie"].percent == tallies["intertie.metering"].percent == 80.0
    assert tallies["intertie.meter"].total == 0
    assert tallies["intertie.meter"].percent == 0.0


def test_nothing_is_installed_where_every_program_is_present() -> None:
    assert missing_packages("test") == []
    assert missing_packages("demo") == []


def test_the_stamp_depends_on_the_files_that_say_what_to_install() -> None:
    assert environment_digest() == environment_digest()
    assert "pyproject.toml" in STAMPED_FILES


def test_every_generated_document_is_listed_once() -> None:
    assert len({document.path for document in GENERATED}) == len(GENERATED)


def test_the_baseline_protects_every_service_of_the_protocol() -> None:
    baseline = FileDescriptorSet.FromString((ROOT / BASELINE).read_bytes())
    protected = {f"{file.package}.{s.name}" for file in baseline.file for s in file.service}
    assert protected >= {
        "intertie.api.agent.v1.AgentLinkService",
        "intertie.api.federation.v1.BlobService",
        "intertie.api.federation.v1.LinkService",
        "intertie.api.federation.v1.TaskService",
        "intertie.api.metering.v1.MeteringService",
        "intertie.api.regional.v1.PoolService",
    }
