"""Blobs over a local folder and over another fsspec file system."""

import asyncio
import hashlib
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intertie.errors import IntertieError, Reason
from intertie.ports import StoreUnavailableError
from intertie.store.blobs import BlobLimits, BlobStat, BlobStore

_DATA = random.Random(300_000).randbytes(300_000)
_SHA = hashlib.sha256(_DATA).hexdigest()
_OTHER = hashlib.sha256(b"other").hexdigest()
_LIMITS = BlobLimits(
    max_blob_bytes=1_000_000, max_append_bytes=100_000, max_uploads=3, read_chunk_bytes=64 << 10
)

Open = Callable[[], BlobStore]


@pytest.fixture(params=["folder", "fsspec"])
def open_blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "folder":
        return lambda: BlobStore(str(tmp_path / "blobs"), limits=_LIMITS)
    url = f"memory:/{tmp_path}"
    return lambda: BlobStore(url, staging=tmp_path / "staging", limits=_LIMITS)


@pytest.fixture
def blobs(open_blobs: Open) -> BlobStore:
    return open_blobs()


async def _upload(blobs: BlobStore, data: bytes = _DATA, owner: str = "") -> None:
    upload = await blobs.begin(hashlib.sha256(data).hexdigest(), len(data), owner=owner)
    for start in range(upload.offset, len(data), 70_000):
        await upload.append(start, data[start : start + 70_000])
    await upload.finish()


async def _read(blobs: BlobStore, offset: int = 0, limit: int = 0) -> bytes:
    return b"".join([chunk async for chunk in blobs.read(_SHA, offset, limit)])


def _reason(caught: pytest.ExceptionInfo[IntertieError]) -> Reason:
    return caught.value.reason


async def test_a_blob_is_read_back_in_chunks(blobs: BlobStore) -> None:
    await _upload(blobs)
    chunks = [chunk async for chunk in blobs.read(_SHA)]
    assert b"".join(chunks) == _DATA
    assert max(map(len, chunks)) <= _LIMITS.read_chunk_bytes


@pytest.mark.parametrize(
    ("offset", "limit"),
    [(0, 10), (5, 0), (70_000, 100_000), (299_999, 0), (300_000, 0), (9, 1 << 30)],
)
async def test_a_part_of_a_blob_is_read(blobs: BlobStore, offset: int, limit: int) -> None:
    await _upload(blobs)
    assert await _read(blobs, offset, limit) == _DATA[offset:][: limit or None]


async def test_reading_past_the_end_names_the_size(blobs: BlobStore) -> None:
    await _upload(blobs)
    with pytest.raises(IntertieError) as caught:
        await _read(blobs, 300_001)
    assert _reason(caught) is Reason.OFFSET_MISMATCH
    assert caught.value.metadata["expected_offset"] == "300000"


async def test_an_upload_is_invisible_until_it_is_finished(blobs: BlobStore) -> None:
    upload = await blobs.begin(_SHA, len(_DATA))
    await upload.append(0, _DATA[:50_000])
    assert await blobs.stat([_SHA]) == [BlobStat(_SHA, exists=False, size=50_000)]
    with pytest.raises(IntertieError) as caught:
        await _read(blobs)
    assert _reason(caught) is Reason.NOT_FOUND


async def test_an_upload_goes_on_after_a_restart(open_blobs: Open) -> None:
    upload = await open_blobs().begin(_SHA, len(_DATA))
    await upload.append(0, _DATA[:50_000])
    again = open_blobs()
    resumed = await again.begin(_SHA, len(_DATA))
    assert resumed.offset == 50_000
    await _upload(again)
    assert await _read(again) == _DATA


async def test_a_finished_blob_is_there_after_a_restart(open_blobs: Open) -> None:
    await _upload(open_blobs())
    assert await _read(open_blobs()) == _DATA


async def test_a_wrong_offset_is_told_the_right_one(blobs: BlobStore) -> None:
    upload = await blobs.begin(_SHA, len(_DATA))
    await upload.append(0, _DATA[:10])
    for wrong in (0, 9, 11):
        with pytest.raises(IntertieError) as caught:
            await upload.append(wrong, b"xx")
        assert _reason(caught) is Reason.OFFSET_MISMATCH
        assert caught.value.metadata["expected_offset"] == "10"
    assert await upload.append(10, _DATA[10:20]) == 20


async def test_two_appends_at_one_offset_write_once(blobs: BlobStore) -> None:
    first, second = [await blobs.begin(_SHA, len(_DATA)) for _ in range(2)]
    outcomes = await asyncio.gather(
        first.append(0, _DATA[:1000]), second.append(0, _DATA[:1000]), return_exceptions=True
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["CallerError", "int"]
    assert (await blobs.begin(_SHA, len(_DATA))).offset == 1000


async def test_bytes_with_another_digest_are_refused_and_forgotten(blobs: BlobStore) -> None:
    upload = await blobs.begin(_OTHER, 5)
    await upload.append(0, b"wrong")
    with pytest.raises(IntertieError) as caught:
        await upload.finish()
    assert _reason(caught) is Reason.DIGEST_MISMATCH
    assert caught.value.metadata["found"] == hashlib.sha256(b"wrong").hexdigest()
    assert await blobs.stat([_OTHER]) == [BlobStat(_OTHER, exists=False, size=0)]
    await _upload(blobs, b"other")
    assert await blobs.get(_OTHER, 10) == b"other"


async def test_finishing_early_is_told_where_to_go_on(blobs: BlobStore) -> None:
    upload = await blobs.begin(_SHA, len(_DATA))
    await upload.append(0, _DATA[:10])
    with pytest.raises(IntertieError) as caught:
        await upload.finish()
    assert _reason(caught) is Reason.OFFSET_MISMATCH
    assert caught.value.metadata["expected_offset"] == "10"


async def test_finishing_and_uploading_again_change_nothing(blobs: BlobStore) -> None:
    await _upload(blobs)
    upload = await blobs.begin(_SHA, len(_DATA))
    assert upload.offset == upload.size
    await upload.finish()
    await upload.finish()
    assert await _read(blobs) == _DATA
    with pytest.raises(IntertieError) as caught:
        await blobs.begin(_SHA, 5)
    assert [violation.field for violation in caught.value.fields] == ["size_bytes"]


async def test_one_owner_cannot_spoil_what_another_uploads(blobs: BlobStore) -> None:
    spoiler = await blobs.begin(_SHA, len(_DATA), owner="projects/bad")
    await spoiler.append(0, b"x" * 1000)
    assert (await blobs.begin(_SHA, len(_DATA), owner="projects/good")).offset == 0
    await _upload(blobs, owner="projects/good")
    assert await _read(blobs) == _DATA
    await spoiler.finish()


async def test_what_is_over_a_limit_is_refused(blobs: BlobStore) -> None:
    with pytest.raises(IntertieError) as caught:
        await blobs.begin(_SHA, 1_000_001)
    assert _reason(caught) is Reason.TOO_LARGE
    upload = await blobs.begin(_SHA, 150_000)
    for data in (b"x" * 100_001, b"x" * 150_001):
        with pytest.raises(IntertieError) as caught:
            await upload.append(0, data)
        assert _reason(caught) is Reason.TOO_LARGE
    await upload.append(0, b"x" * 100_000)
    with pytest.raises(IntertieError) as caught:
        await upload.append(100_000, b"x" * 50_001)
    assert _reason(caught) is Reason.TOO_LARGE
    await _upload(blobs, owner="another")
    with pytest.raises(IntertieError) as caught:
        await blobs.get(_SHA, 299_999)
    assert _reason(caught) is Reason.TOO_LARGE


async def test_unfinished_uploads_are_bounded_and_given_up_by_age(
    blobs: BlobStore, tmp_path: Path
) -> None:
    digests = [hashlib.sha256(b"%d" % i).hexdigest() for i in range(4)]
    for sha256 in digests[:3]:
        await (await blobs.begin(sha256, 10)).append(0, b"part")
    with pytest.raises(IntertieError) as caught:
        await blobs.begin(digests[3], 10)
    assert _reason(caught) is Reason.QUOTA_EXCEEDED
    old = next(tmp_path.rglob(f"{digests[0]}.*"))
    os.utime(old, ns=(0, 5_000 * 1_000_000))
    assert await blobs.collect_uploads(before_utc_ms=5_000) == 0
    assert await blobs.collect_uploads(before_utc_ms=5_001) == 1
    stats = await blobs.stat(digests)
    assert [(stat.exists, stat.size) for stat in stats] == [
        (False, 0),
        (False, 4),
        (False, 4),
        (False, 0),
    ]
    await blobs.begin(digests[3], 10)


async def test_an_owner_has_so_many_unfinished_uploads_and_others_are_not_touched(
    tmp_path: Path,
) -> None:
    limits = BlobLimits(max_owner_uploads=2)
    digests = [hashlib.sha256(b"%d" % i).hexdigest() for i in range(3)]
    for sha256 in digests[:2]:
        await BlobStore(str(tmp_path), limits=limits).begin(sha256, 10, owner="ann")
    blobs = BlobStore(str(tmp_path), limits=limits)  # counted anew after a restart
    with pytest.raises(IntertieError) as caught:
        await blobs.begin(digests[2], 10, owner="ann")
    assert _reason(caught) is Reason.QUOTA_EXCEEDED
    await blobs.begin(digests[1], 10, owner="ann")  # its own goes on
    await blobs.begin(digests[2], 10, owner="bob")
    await blobs.collect_uploads(before_utc_ms=1 << 50)
    await blobs.begin(digests[2], 10, owner="ann")


async def test_an_owner_has_so_many_unfinished_bytes(tmp_path: Path) -> None:
    blobs = BlobStore(str(tmp_path), limits=BlobLimits(max_owner_bytes=300_000))
    first = await blobs.begin(_OTHER, 200_000, owner="ann")
    second = await blobs.begin(_SHA, len(_DATA), owner="ann")  # nothing has come yet
    await first.append(0, b"x" * 200_000)
    await second.append(0, _DATA[:100_000])
    with pytest.raises(IntertieError) as caught:
        await second.append(100_000, b"x")
    assert _reason(caught) is Reason.QUOTA_EXCEEDED
    with pytest.raises(IntertieError) as caught:
        await blobs.begin("0" * 64, 1, owner="ann")
    assert _reason(caught) is Reason.QUOTA_EXCEEDED
    await _upload(blobs, owner="bob")
    with pytest.raises(IntertieError):
        await first.finish()  # its bytes are not those of the digest: it is given up
    assert await second.append(100_000, _DATA[100_000:110_000]) == 110_000


async def test_a_finished_upload_counts_no_more(tmp_path: Path) -> None:
    blobs = BlobStore(str(tmp_path), limits=BlobLimits(max_owner_uploads=1))
    for data in (b"one", b"two", b"three"):
        await _upload(blobs, data, owner="ann")


async def test_whoever_must_prove_brings_every_byte_and_learns_nothing_before(
    blobs: BlobStore,
) -> None:
    await _upload(blobs)
    upload = await blobs.begin(_SHA, len(_DATA), owner="eve", prove=True)
    assert upload.offset == 0
    with pytest.raises(IntertieError) as caught:
        await upload.finish()
    assert _reason(caught) is Reason.OFFSET_MISMATCH
    wrong = await blobs.begin(_SHA, 3, owner="eve2", prove=True)  # no word about the real size
    await wrong.append(0, b"abc")
    with pytest.raises(IntertieError) as caught:
        await wrong.finish()
    assert _reason(caught) is Reason.DIGEST_MISMATCH
    for start in range(0, len(_DATA), 70_000):
        await upload.append(start, _DATA[start : start + 70_000])
    await upload.finish()
    await upload.finish()
    assert await _read(blobs) == _DATA


async def test_bytes_are_checked_while_others_hold_the_blob_and_appear_when_they_are_done(
    blobs: BlobStore,
) -> None:
    wrong = await blobs.begin(_OTHER, 5, owner="eve")
    await wrong.append(0, b"wrong")
    right = await blobs.begin(_OTHER, 5, owner="ann")
    await right.append(0, b"other")
    seen = []

    async def then() -> None:
        assert blobs.hold(_OTHER).locked()
        seen.append(await blobs.get(_OTHER, 10))

    async with blobs.hold(_OTHER):
        with pytest.raises(IntertieError) as caught:
            await asyncio.wait_for(wrong.finish(), 10)
        assert _reason(caught) is Reason.DIGEST_MISMATCH
        finishing = asyncio.create_task(right.finish(then))
        assert not (await blobs.stat([_OTHER]))[0].exists
    await finishing
    assert seen == [b"other"]


async def test_a_blob_that_goes_while_it_is_uploaded_again_has_to_come_again(
    blobs: BlobStore,
) -> None:
    early = await blobs.begin(_OTHER, 5, owner="ann")
    await early.append(0, b"wrong")  # never checked: the blob comes from another owner
    await _upload(blobs, b"other")
    upload = await blobs.begin(_OTHER, 5)  # it is there: nothing has to come
    async with blobs.hold(_OTHER):
        finishing = [asyncio.create_task(u.finish()) for u in (early, upload)]
        await asyncio.wait(finishing, timeout=0.2)  # both have seen it by now, or soon will
        await blobs.delete(_OTHER)
    for task in finishing:
        with pytest.raises(IntertieError) as caught:
            await task
        assert _reason(caught) in {Reason.OFFSET_MISMATCH, Reason.DIGEST_MISMATCH}
    assert not (await blobs.stat([_OTHER]))[0].exists


async def test_what_is_not_known_to_the_caller_is_not_there(blobs: BlobStore) -> None:
    await _upload(blobs)
    (hidden,) = await blobs.stat([_SHA], owner="eve", known=())
    assert hidden == BlobStat(_SHA, exists=False, size=0)
    (shown,) = await blobs.stat([_SHA], owner="ann", known={_SHA})
    assert shown == BlobStat(_SHA, exists=True, size=len(_DATA))


async def test_blobs_are_listed_by_when_they_came(blobs: BlobStore) -> None:
    await _upload(blobs)
    await _upload(blobs, b"other")
    await blobs.begin("0" * 64, 5)
    assert {sha256 async for sha256 in blobs.aged(1 << 50)} == {_SHA, _OTHER}
    assert not [sha256 async for sha256 in blobs.aged(1_000)]


async def test_an_upload_that_was_given_up_starts_again(blobs: BlobStore) -> None:
    upload = await blobs.begin(_SHA, len(_DATA))
    await upload.append(0, _DATA[:10])
    await blobs.collect_uploads(before_utc_ms=1 << 50)
    with pytest.raises(IntertieError) as caught:
        await upload.append(10, _DATA[10:20])
    assert _reason(caught) is Reason.OFFSET_MISMATCH
    assert caught.value.metadata["expected_offset"] == "0"
    await _upload(blobs)
    assert await _read(blobs) == _DATA


async def test_a_deleted_blob_is_gone(blobs: BlobStore) -> None:
    await _upload(blobs)
    assert await blobs.delete(_SHA)
    assert not await blobs.delete(_SHA)
    assert await blobs.stat([_SHA]) == [BlobStat(_SHA, exists=False, size=0)]


@pytest.mark.parametrize("data", [b"", b"other", _DATA], ids=["empty", "small", "large"])
async def test_small_blobs_are_put_and_got_at_once(blobs: BlobStore, data: bytes) -> None:
    sha256 = await blobs.put(data)
    assert sha256 == hashlib.sha256(data).hexdigest()
    assert await blobs.get(sha256, 1_000_000) == data
    assert await blobs.put(data) == sha256


@pytest.mark.parametrize(
    "digest", ["", "../" * 20 + "etc/passwd", _SHA.upper(), _SHA[:-1], _SHA + "\n", _SHA + "0"]
)
async def test_only_digests_become_file_names(blobs: BlobStore, digest: str) -> None:
    with pytest.raises(IntertieError) as caught:
        await blobs.begin(digest, 1)
    assert _reason(caught) is Reason.INVALID_FIELD
    for attempt in (blobs.stat([digest]), blobs.delete(digest), blobs.get(digest, 1)):
        with pytest.raises(IntertieError):
            await attempt
    with pytest.raises(IntertieError):
        async for _ in blobs.read(digest):
            pass


@settings(max_examples=15, deadline=None)
@given(data=st.binary(max_size=2000), cuts=st.lists(st.integers(1, 500), max_size=6))
async def test_any_cut_of_an_upload_gives_the_same_blob(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cuts: list[int]
) -> None:
    root = str(tmp_path_factory.mktemp("cuts"))
    sha256 = hashlib.sha256(data).hexdigest()
    for cut in [*cuts, 2000]:  # every piece by a new process, as it were
        piece = await BlobStore(root).begin(sha256, len(data))
        await piece.append(piece.offset, data[piece.offset : piece.offset + cut])
    await (await BlobStore(root).begin(sha256, len(data))).finish()
    assert await BlobStore(root).get(sha256, 2000) == data


async def test_folders_and_files_are_for_their_owner_only(tmp_path: Path) -> None:
    blobs = BlobStore(str(tmp_path / "blobs"))
    await _upload(blobs)
    await blobs.begin(_OTHER, 5)
    modes = {path.is_dir(): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {True: 0o700, False: 0o600}


async def test_negative_sizes_and_offsets_name_the_field(tmp_path: Path) -> None:
    blobs = BlobStore(str(tmp_path))
    for attempt, field in (
        (blobs.begin(_SHA, -1), "size_bytes"),
        (anext(aiter(blobs.read(_SHA, -1))), "offset"),
        (anext(aiter(blobs.read(_SHA, 0, -1))), "limit"),
    ):
        with pytest.raises(IntertieError) as caught:
            await attempt
        assert [violation.field for violation in caught.value.fields] == [field]


async def test_a_root_elsewhere_needs_a_local_folder_for_uploads() -> None:
    with pytest.raises(IntertieError) as caught:
        BlobStore("memory://somewhere")
    assert [violation.field for violation in caught.value.fields] == ["staging"]


async def test_a_root_that_cannot_be_made_is_the_worlds_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreUnavailableError, match="file"):
        BlobStore(str(tmp_path / "file"))


async def test_a_full_disk_refuses_bytes_and_keeps_the_offset(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 3_000_000)
    blobs = BlobStore(str(small_disk / "blobs"))
    upload = await blobs.begin(_SHA, len(_DATA))
    await upload.append(0, _DATA[:50_000])
    with pytest.raises(StoreUnavailableError):
        await upload.append(50_000, _DATA[50_000:])
    assert (await blobs.begin(_SHA, len(_DATA))).offset == 50_000
    ballast.unlink()
    await _upload(blobs)
    assert await _read(blobs) == _DATA
