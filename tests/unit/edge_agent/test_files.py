"""Folders, trees, the cache, and files that tasks wrote."""

import asyncio
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edge_agent.adapters.files.cache import BlobCache, make_parents, place
from edge_agent.adapters.files.confined import Confined, RefusedError
from edge_agent.adapters.files.folders import TASK_FOLDERS, Folders
from edge_agent.adapters.files.trees import Trees, remove_tree
from edge_agent.domain.events import RunKey
from intertie.errors import IntertieError
from intertie.model.token import Epoch, Token
from intertie.testing.waiting import eventually_sync

TASK = "projects/p1/tasks/07-01a22e89-65ab-704c-b12f-be4a9bae32c3"


def key(sub: int = 1) -> RunKey:
    return RunKey(TASK, Token(Epoch(1, 2), sub))


@pytest.fixture
def trees(tmp_path: Path) -> Iterator[Trees]:
    folders = Folders(tmp_path, None)
    folders.prepare()
    trees = Trees(folders)
    trees.start()
    yield trees
    trees.stop()


def spares(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "spare").iterdir())


def gone(tmp_path: Path) -> None:
    eventually_sync(lambda: not list((tmp_path / "runs").iterdir()), 10, what="the tree is gone")


def test_the_folders_of_a_run_are_named_by_task_and_token(trees: Trees, tmp_path: Path) -> None:
    folders = trees.make(key(), 0)
    root = tmp_path / "runs" / "07-01a22e89-65ab-704c-b12f-be4a9bae32c3-1-2.1"
    assert Path(folders.root) == root
    assert root.stat().st_mode & 0o777 == 0o710
    for name in (*TASK_FOLDERS, "logs"):
        assert (root / name).stat().st_mode & 0o777 == 0o700


def test_a_name_that_is_no_task_makes_no_folder(trees: Trees, tmp_path: Path) -> None:
    with pytest.raises(IntertieError):
        trees.make(RunKey("projects/p/tasks/../../etc", key().token), 0)
    assert not list((tmp_path / "runs").iterdir())


def test_an_untouched_tree_is_used_again_without_its_logs(trees: Trees, tmp_path: Path) -> None:
    folders = trees.make(key(), 0)
    Path(folders.log("stdout") + ".0").write_text("printed")
    inode = Path(folders.root).stat().st_ino
    trees.discard(key())
    eventually_sync(lambda: trees._spare, 10, what="a spare tree")
    again = trees.make(key(2), 1)
    assert Path(again.root).stat().st_ino == inode
    assert not list((Path(again.root) / "logs").iterdir())
    assert not spares(tmp_path)


@pytest.mark.parametrize("touch", ["file", "mode", "attribute", "replaced"])
def test_a_touched_tree_is_never_used_again(trees: Trees, tmp_path: Path, touch: str) -> None:
    folders = trees.make(key(), 0)
    scratch = Path(folders.scratch)
    match touch:
        case "file":
            (scratch / "x").write_text("secret")
        case "mode":
            scratch.chmod(0o777)
        case "attribute":
            try:
                os.setxattr(scratch, "user.note", b"x")
            except OSError:
                pytest.skip("this file system has no extended attributes")
        case "replaced":
            scratch.rmdir()
    trees.discard(key())
    gone(tmp_path)
    assert not spares(tmp_path)


def test_a_file_that_came_and_went_is_a_touch_too(trees: Trees, tmp_path: Path) -> None:
    folders = trees.make(key(), 0)
    before = Path(folders.work).stat().st_ctime_ns

    def come_and_go() -> bool:
        """Change times are no finer than a tick of the kernel."""
        (Path(folders.work) / "x").write_text("")
        (Path(folders.work) / "x").unlink()
        return Path(folders.work).stat().st_ctime_ns != before

    eventually_sync(come_and_go, 5, what="the kernel's tick")
    trees.discard(key())
    gone(tmp_path)
    assert not spares(tmp_path)


def test_trees_of_an_earlier_life_are_not_trusted(trees: Trees, tmp_path: Path) -> None:
    trees.make(key(), 0)
    trees.discard(key())
    eventually_sync(lambda: spares(tmp_path), 10, what="a spare tree")
    later = Trees(Folders(tmp_path, None))
    later.start()
    assert not spares(tmp_path)
    later.stop()


def test_what_forgotten_runs_left_is_removed_at_the_next_start(
    trees: Trees, tmp_path: Path
) -> None:
    trees.make(key(1), 0)
    kept = trees.make(key(2), 1)
    trees.discard_unknown([key(2)])
    eventually_sync(lambda: len(list((tmp_path / "runs").iterdir())) == 1, 10)
    assert Path(kept.root).exists()


def test_a_tree_deeper_than_a_recursion_is_removed(tmp_path: Path) -> None:
    root = tmp_path / "deep"
    root.mkdir()
    here = os.open(root, os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    remove_tree(str(root))
    assert not root.exists()


# --- files of tasks ----------------------------------------------------------------------------


def test_plain_files_are_found_in_order_and_read(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name in ("b", "d/c", "a"):
        (tmp_path / name).write_text(name)
    confined = Confined(tmp_path, None)
    assert confined.files("") == ["a", "b", "d/c"]
    assert confined.files("d") == ["d/c"]
    assert confined.files("a") == ["a"]
    fd = confined.open("d/c")
    assert os.read(fd, 10) == b"d/c"
    os.close(fd)


@pytest.mark.parametrize("where", ["link", "folder/secret", "pipe", "folder"])
def test_what_is_no_plain_file_inside_is_refused(tmp_path: Path, where: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(outside / "secret")
    (inside / "folder").symlink_to(outside)
    os.mkfifo(inside / "pipe")
    confined = Confined(inside, None)
    with pytest.raises(RefusedError):
        confined.open(where)
    assert confined.files("") == []


def test_a_file_of_another_user_is_not_the_tasks_to_give_away(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(RefusedError, match="own file"):
        Confined(tmp_path, os.geteuid() + 1).open("mine")


def test_a_missing_file_is_told_apart_from_a_refused_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Confined(tmp_path, None).open("a/b")
    with pytest.raises(FileNotFoundError):
        Confined(tmp_path, None).files("a")


# --- the cache ---------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path) -> BlobCache:
    cache = BlobCache(tmp_path / "cache", 100)
    (tmp_path / "cache").mkdir()
    cache.load()
    return cache


async def put(cache: BlobCache, name: str, size: int) -> Path:
    async def fetch(part: Path) -> None:
        part.write_bytes(b"x" * size)

    with cache.holding([name]):
        return await cache.need(name, size, fetch)


async def test_the_blob_that_was_unused_longest_goes_first(cache: BlobCache) -> None:
    first, second = await put(cache, "aa1", 40), await put(cache, "bb2", 40)
    await put(cache, "aa1", 40)
    third = await put(cache, "cc3", 40)
    assert (first.exists(), second.exists(), third.exists()) == (True, False, True)
    assert cache.bytes == 80


async def test_a_blob_that_is_held_stays_beyond_the_bound(cache: BlobCache) -> None:
    with cache.holding(["aa1"]):
        held = await put(cache, "aa1", 90)
        await put(cache, "bb2", 90)
        assert held.exists()
    assert cache.bytes <= 100


async def test_a_failed_fetch_leaves_the_next_one_its_part(cache: BlobCache) -> None:
    async def broken(part: Path) -> None:
        part.write_bytes(b"half")
        raise OSError("cut")

    seen: list[bytes] = []

    async def resumed(part: Path) -> None:
        seen.append(part.read_bytes())
        part.write_bytes(b"whole")

    with cache.holding(["aa1"]):
        with pytest.raises(OSError, match="cut"):
            await cache.need("aa1", 5, broken)
        path = await cache.need("aa1", 5, resumed)
    assert seen == [b"half"]
    assert path.read_bytes() == b"whole"


async def test_many_who_ask_at_once_fetch_once(cache: BlobCache) -> None:
    fetches: list[Path] = []

    async def fetch(part: Path) -> None:
        fetches.append(part)
        await asyncio.sleep(0)
        part.write_bytes(b"x")

    async def ask() -> Any:
        with cache.holding(["aa1"]):
            return await cache.need("aa1", 1, fetch)

    await asyncio.gather(*(ask() for _ in range(5)))
    assert len(fetches) == 1


WHOLE = b"the whole blob"
DIGEST = hashlib.sha256(WHOLE).hexdigest()


@pytest.fixture
def fetches() -> list[Path]:
    return []


@pytest.fixture
def use(fetches: list[Path]) -> Any:
    """Needs the blob from a cache; each fetch is remembered."""

    async def fetch(part: Path) -> None:
        fetches.append(part)
        part.write_bytes(WHOLE)

    async def use(cache: BlobCache) -> bytes:
        with cache.holding([DIGEST]):
            return (await cache.need(DIGEST, len(WHOLE), fetch)).read_bytes()

    return use


def restarted(cache: BlobCache, tmp_path: Path) -> BlobCache:
    again = BlobCache(tmp_path / "cache", 100)
    again.load()
    assert again.bytes == cache.bytes
    return again


async def test_a_restarted_cache_finds_what_it_had(
    cache: BlobCache, tmp_path: Path, use: Any, fetches: list[Path]
) -> None:
    await use(cache)
    again = restarted(cache, tmp_path)
    assert await use(again) == await use(again) == WHOLE
    assert len(fetches) == 1


@pytest.mark.parametrize("torn", [b"", WHOLE[:5], bytes(len(WHOLE)), WHOLE + b"x"])
@pytest.mark.parametrize("restart", [True, False])
async def test_a_torn_blob_is_fetched_again(
    cache: BlobCache, tmp_path: Path, use: Any, fetches: list[Path], torn: bytes, restart: bool
) -> None:
    await use(cache)
    path = cache.path(DIGEST)
    os.utime(path, ns=(0, 0))  # an earlier instant, whatever the kernel's tick
    path.chmod(0o644)
    path.write_bytes(torn)
    again = BlobCache(tmp_path / "cache", 100) if restart else cache
    if restart:
        again.load()
    assert await use(again) == WHOLE
    assert len(fetches) == 2
    assert again.bytes == len(WHOLE)
    assert path.stat().st_mode & 0o777 == 0o444


async def test_a_blob_that_vanished_is_fetched_again(
    cache: BlobCache, use: Any, fetches: list[Path]
) -> None:
    await use(cache)
    cache.path(DIGEST).unlink()
    assert await use(cache) == WHOLE
    assert len(fetches) == 2


async def test_a_blob_is_synced_before_it_gets_its_name(
    cache: BlobCache, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[bool] = []
    real = os.fsync

    def synced(fd: int) -> None:
        named.append(cache.path(DIGEST).exists())
        real(fd)

    monkeypatch.setattr("os.fsync", synced)
    await use(cache)
    assert named == [False]


def test_a_writable_file_is_a_copy_and_a_read_only_one_a_link(tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(b"data")
    blob.chmod(0o444)
    place(blob, tmp_path / "copy", 0o755, None)
    place(blob, tmp_path / "link", 0o444, None)
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "copy").stat().st_ino != blob.stat().st_ino
    assert (tmp_path / "link").stat().st_ino == blob.stat().st_ino


def test_parents_are_made_private(tmp_path: Path) -> None:
    target = make_parents(tmp_path, "a/b/c", None)
    assert target == tmp_path / "a/b/c"
    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o700
