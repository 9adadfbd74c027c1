"""Packing: digests instead of paths, the same on every machine."""

import hashlib
from pathlib import Path

import pytest

from intertie.errors import IntertieError
from intertie.model.spec import FileRef, RunSpec, TaskSpec
from intertie.sdk.calls.packing import pack


def make_task(**run: object) -> TaskSpec:
    return TaskSpec(run=RunSpec(command=("true",), **run))  # type: ignore[arg-type] # as RunSpec has it


def test_the_work_directory_becomes_files_in_the_order_of_their_paths(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "b.py").write_text("b")
    (tmp_path / "work" / "a.sh").write_text("a")
    (tmp_path / "work" / "a.sh").chmod(0o755)
    packed = pack(make_task(workdir="work"), tmp_path)
    assert packed.spec.run.workdir == ""
    assert [(ref.path, ref.mode) for ref in packed.spec.run.files] == [
        ("a.sh", 0o755),
        ("b.py", 0o644),
    ]
    assert {path.name for path in packed.blobs.values()} == {"a.sh", "b.py"}


def test_single_files_are_read_beside_the_task_file_and_win_over_the_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "x").write_text("old")
    (tmp_path / "x").write_text("new")
    packed = pack(make_task(workdir="work", files=(FileRef(path="x"),)), tmp_path)
    (ref,) = packed.spec.run.files
    assert ref.sha256 == hashlib.sha256(b"new").hexdigest()


def test_a_file_given_by_digest_is_neither_read_nor_uploaded(tmp_path: Path) -> None:
    ref = FileRef(path="weights", sha256="ab" * 32, size=5)
    packed = pack(make_task(files=(ref,)), tmp_path)
    assert packed.spec.run.files == (ref,)
    assert packed.blobs == {}


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(IntertieError, match=r"run\.files\[0\]\.path"):
        pack(make_task(files=(FileRef(path="nowhere"),)), tmp_path)


def test_a_path_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IntertieError, match=r"\.\."):
        pack(make_task(files=(FileRef(path="../secret"),)), tmp_path)
