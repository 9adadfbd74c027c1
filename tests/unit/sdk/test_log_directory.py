"""A pulled log as files: what is written reads back, over any number of pulls."""

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intertie.errors import IntertieError
from intertie.metering.cursor import Cursor
from intertie.metering.log.checkpoint import Checkpoint, sign
from intertie.metering.log.merkle import CompactRange, leaf_hash
from intertie.metering.log.note import Signer
from intertie.metering.verify import Hidden, Leaf
from intertie.sdk.metering.directory import LogDirectory, logs_in

ORIGIN = "fed.example/region/r1/metering"
LOG = Signer.from_seed(ORIGIN, b"\x01" * 32)


def leaf(n: int) -> Leaf:
    data = b'{"n":%d}' % n
    return Hidden(leaf_hash(data)) if n % 7 == 3 else data


def digest(leaf: Leaf) -> bytes:
    return leaf_hash(leaf) if isinstance(leaf, bytes) else leaf.digest


def reached(size: int) -> Cursor:
    tree = CompactRange().extend(digest(leaf(n)) for n in range(size))
    return Cursor(ORIGIN, tree, sign(Checkpoint(ORIGIN, size, tree.root()), LOG))


@given(st.lists(st.integers(0, 400), min_size=1, max_size=5), st.booleans())
@settings(max_examples=25, deadline=None)
def test_leaves_read_back_as_written_over_any_cuts_into_pulls(
    tmp_path_factory: pytest.TempPathFactory, pulls: list[int], broken: bool
) -> None:
    folder = tmp_path_factory.mktemp("log")
    size = 0
    for count in pulls:
        log = LogDirectory(folder, ORIGIN)
        cursor = log.cursor()
        assert cursor.size == size
        if broken:  # a pull that wrote other leaves and never reached its checkpoint
            log.begin(cursor)
            log.write([b"junk"] * 300)
            log = LogDirectory(folder, ORIGIN)
        log.begin(cursor)
        log.write([leaf(n) for n in range(size, size + count)])
        size += count
        log.reach(reached(size))
    (log,) = logs_in(folder)
    kept = [found for found, _ in zip(log.leaves(), range(size), strict=False)]
    assert kept == [leaf(n) for n in range(size)]
    assert log.leaf(0) == (leaf(0) if size else None) or not size
    if size > 3:
        assert log.leaf(3) is None, "hidden"


def test_an_origin_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IntertieError):
        LogDirectory(tmp_path, "../../etc/region/r1/metering")


def test_a_folder_that_lost_entries_says_to_pull_anew(tmp_path: Path) -> None:
    log = LogDirectory(tmp_path, ORIGIN)
    log.begin(log.cursor())
    log.write([leaf(n) for n in range(10)])
    log.reach(reached(10))
    (log.path / "entries" / "000").unlink()
    again = LogDirectory(tmp_path, ORIGIN)
    with pytest.raises(IntertieError, match="pull the log again"):
        again.begin(again.cursor())


def test_the_hash_of_a_hidden_leaf_stands_for_it(tmp_path: Path) -> None:
    log = LogDirectory(tmp_path, ORIGIN)
    log.begin(log.cursor())
    log.write([Hidden(sha256(b"x").digest())])
    tree = CompactRange().extend([sha256(b"x").digest()])
    log.reach(Cursor(ORIGIN, tree, sign(Checkpoint(ORIGIN, 1, tree.root()), LOG)))
    assert list(log.leaves()) == [Hidden(sha256(b"x").digest())]
