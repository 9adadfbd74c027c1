"""What of a folder becomes a work directory, and what is refused."""

import hashlib
import os
import socket
from pathlib import Path

import pytest

from intertie.errors import CallerError, Reason
from intertie.model.validate.limits import MAX_FILES_BYTES
from intertie.sdk import workdir
from intertie.sdk.workdir import pack_workdir


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def packed(folder: Path, *ignore: str) -> list[str]:
    return [ref.path for ref, _ in pack_workdir(folder, ignore)]


def refused(folder: Path) -> str:
    with pytest.raises(CallerError) as caught:
        pack_workdir(folder)
    assert caught.value.fields[0].field == "run.workdir"
    return str(caught.value)


def test_files_are_listed_in_order_with_digest_size_and_mode(tmp_path: Path) -> None:
    make(tmp_path, "b/c.py", "a.py")
    (tmp_path / "a.py").chmod(0o700)
    (first, first_path), (second, _) = pack_workdir(tmp_path)
    assert (first.path, first.mode, second.path, second.mode) == ("a.py", 0o755, "b/c.py", 0o644)
    assert first.sha256 == hashlib.sha256(b"a.py").hexdigest()
    assert first.size == 4
    assert first_path.read_bytes() == b"a.py"


def test_the_ignore_file_has_the_syntax_of_gitignore(tmp_path: Path) -> None:
    make(tmp_path, "a.log", "keep.log", "data/x", "data/y", "build/z", "src/build/w", "src/a.py")
    (tmp_path / ".intertieignore").write_text(
        "# text\n*.log\n!keep.log\n/build/\ndata/*\n!data/x\n"
    )
    assert packed(tmp_path) == [
        ".intertieignore",
        "data/x",
        "keep.log",
        "src/a.py",
        "src/build/w",
    ]


def test_patterns_of_the_caller_come_last(tmp_path: Path) -> None:
    make(tmp_path, "a", "b")
    (tmp_path / ".intertieignore").write_text("a\n")
    assert packed(tmp_path, "!a", "b", ".intertieignore") == ["a"]


def test_git_and_bytecode_are_left_out_unless_taken_back(tmp_path: Path) -> None:
    make(tmp_path, ".git/config", "a/__pycache__/x.pyc", "a/b.py")
    assert packed(tmp_path) == ["a/b.py"]
    assert packed(tmp_path, "!__pycache__/") == ["a/__pycache__/x.pyc", "a/b.py"]


def test_a_link_inside_the_folder_is_packed_as_what_it_points_to(tmp_path: Path) -> None:
    make(tmp_path, "a/x")
    (tmp_path / "link").symlink_to("a/x")
    (tmp_path / "folder").symlink_to("a")
    assert packed(tmp_path) == ["a/x", "folder/x", "link"]
    assert {ref.sha256 for ref, _ in pack_workdir(tmp_path)} == {hashlib.sha256(b"a/x").hexdigest()}


def test_a_link_that_leaves_the_folder_is_refused_by_name(tmp_path: Path) -> None:
    make(tmp_path, "secret", "work/a")
    (tmp_path / "work/link").symlink_to("../secret")
    assert "link is a link out of the folder" in refused(tmp_path / "work")


def test_a_link_to_a_folder_outside_is_refused_by_name(tmp_path: Path) -> None:
    make(tmp_path, "other/secret", "work/a")
    (tmp_path / "work/link").symlink_to(tmp_path / "other")
    assert "link is a link out of the folder" in refused(tmp_path / "work")


def test_links_to_nothing_and_in_circles_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nothing")
    assert "link is a link to nothing" in refused(tmp_path)
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("link")
    assert "link is a link to nothing" in refused(tmp_path)
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(".")
    assert "link is a link to a folder that it lies in" in refused(tmp_path)


def test_an_ignored_link_is_not_looked_at(tmp_path: Path) -> None:
    make(tmp_path, "a")
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert packed(tmp_path, "link") == ["a"]


def test_a_pipe_and_a_socket_are_refused_by_kind(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "pipe is a pipe, not a file" in refused(tmp_path)
    (tmp_path / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tmp_path / "sock"))
        assert "sock is a socket, not a file" in refused(tmp_path)


def test_a_name_that_is_not_unicode_is_refused(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))).write_text("x")
    assert "valid Unicode" in refused(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    make(tmp_path, "a")
    (tmp_path / "a").chmod(0)
    assert "a cannot be read: Permission denied" in refused(tmp_path)


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    make(tmp_path, "a")
    assert "is not a folder" in refused(tmp_path / "a")
    assert "is not a folder" in refused(tmp_path / "none")


def test_an_ignore_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".intertieignore").write_bytes(b"\xff")
    assert ".intertieignore cannot be read" in refused(tmp_path)


def test_too_many_files_and_too_many_bytes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a", "b", "c")
    monkeypatch.setattr(workdir, "MAX_FILES", 2)
    with pytest.raises(CallerError, match="more than 2 files") as caught:
        pack_workdir(tmp_path)
    assert caught.value.reason is Reason.TOO_LARGE
    with (tmp_path / "big").open("wb") as file:
        file.truncate(MAX_FILES_BYTES + 1)
    monkeypatch.setattr(workdir, "MAX_FILES", 10)
    with pytest.raises(CallerError, match="more than 64 GiB"):
        pack_workdir(tmp_path)


def test_an_empty_folder_packs_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert packed(tmp_path) == []
