"""What a run's directories take on disk, and what does not make it cheaper."""

import os
from pathlib import Path

import pytest

from edge_agent.keeper.machine import quota

SIZE = 1 << 20


def measured(*roots: Path) -> int:
    *_, total = quota.scan(tuple(map(str, roots)))
    return total


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    run.mkdir()
    return run


def write(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"x" * SIZE)
        os.fsync(file.fileno())  # blocks are allocated when they are written


def test_a_file_counts_once_however_many_names_it_has(run: Path) -> None:
    write(run / "file")
    before = measured(run)
    for number in range(20):
        os.link(run / "file", run / f"name{number}")
    assert SIZE <= before <= measured(run) < before + SIZE // 2


def test_names_outside_of_the_run_make_a_file_no_cheaper(run: Path, tmp_path: Path) -> None:
    write(run / "file")
    before = measured(run)
    for number in range(20):
        os.link(run / "file", tmp_path / f"outside{number}")
    assert measured(run) == before


def test_a_file_with_names_in_two_directories_of_a_run_counts_once(
    run: Path, tmp_path: Path
) -> None:
    write(run / "file")
    other = tmp_path / "other"
    other.mkdir()
    os.link(run / "file", other / "file")
    assert measured(run, other) == measured(run)


def test_beyond_what_a_scan_remembers_each_name_counts(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quota, "MAX_REMEMBERED", 0)
    write(run / "file")
    os.link(run / "file", run / "name")
    assert measured(run) >= 2 * SIZE


def test_a_sparse_file_is_free_and_a_vanished_directory_counts_nothing(run: Path) -> None:
    with (run / "sparse").open("wb") as file:
        file.truncate(SIZE)
    assert measured(run) < SIZE
    assert measured(run / "gone") == 0
