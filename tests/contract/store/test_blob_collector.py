"""Giving back the room of a blob root, with a judge and without."""

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from intertie.errors import Reason, error
from intertie.store.blob_collector import BlobCollector, Collected
from intertie.store.blobs import BlobStore
from intertie.testing.clock import FakeClock
from intertie.testing.waiting import eventually

OLD, NEW, NEEDED = b"old", b"new", b"needed"
HOUR_MS = 3_600_000


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def blobs(tmp_path: Path, clock: FakeClock) -> BlobStore:
    """An old blob, an old one that is needed, a new one, and an upload that stands still."""
    store = BlobStore(str(tmp_path / "blobs"))
    now_ms = clock.now().utc_ms
    for data, age_ms in ((OLD, 2 * HOUR_MS), (NEEDED, 2 * HOUR_MS), (NEW, 0)):
        await store.put(data)
        path = tmp_path / "blobs" / sha(data)[:2] / sha(data)
        os.utime(path, ns=(0, (now_ms - age_ms) * 1_000_000))
    await (await store.begin("0" * 64, 10)).append(0, b"part")
    (part,) = (tmp_path / "blobs" / "uploads").iterdir()
    os.utime(part, ns=(0, (now_ms - 2 * HOUR_MS) * 1_000_000))
    return store


async def there(blobs: BlobStore) -> set[bytes]:
    stats = await blobs.stat([sha(OLD), sha(NEEDED), sha(NEW)])
    return {data for data, s in zip((OLD, NEEDED, NEW), stats, strict=True) if s.exists}


async def test_old_blobs_go_when_the_judge_lets_them_and_new_ones_are_not_asked_about(
    blobs: BlobStore, clock: FakeClock
) -> None:
    asked = []

    async def let_go(sha256: str, before_ms: int) -> bool:
        assert blobs.hold(sha256).locked(), "a blob is judged while it is held"
        assert before_ms == clock.now().utc_ms - HOUR_MS
        asked.append(sha256)
        return sha256 != sha(NEEDED)

    collector = BlobCollector(
        blobs, clock, upload_ms=HOUR_MS, every_s=60, keep_ms=HOUR_MS, let_go=let_go
    )
    assert await collector.sweep() == Collected(uploads=1, blobs=1)
    assert await there(blobs) == {NEEDED, NEW}
    assert sorted(asked) == sorted([sha(OLD), sha(NEEDED)])
    assert await collector.sweep() == Collected(uploads=0, blobs=0)


async def test_without_a_judge_only_unfinished_uploads_go(
    blobs: BlobStore, clock: FakeClock
) -> None:
    collector = BlobCollector(blobs, clock, upload_ms=HOUR_MS, every_s=60)
    assert await collector.sweep() == Collected(uploads=1, blobs=0)
    assert await there(blobs) == {OLD, NEEDED, NEW}


async def test_a_blob_that_somebody_holds_waits(
    blobs: BlobStore, clock: FakeClock, tmp_path: Path
) -> None:
    async def let_go(sha256: str, before_ms: int) -> bool:
        return True

    collector = BlobCollector(
        blobs, clock, upload_ms=HOUR_MS, every_s=60, keep_ms=HOUR_MS, let_go=let_go
    )
    async with blobs.hold(sha(OLD)):
        sweep = asyncio.create_task(collector.sweep())
        await eventually(lambda: not any((tmp_path / "blobs" / "uploads").iterdir()), 5.0)
        assert OLD in await there(blobs)
    await sweep
    assert await there(blobs) == {NEW}


async def test_a_store_that_is_away_is_asked_again_later(
    blobs: BlobStore, clock: FakeClock
) -> None:
    faults = [error(Reason.STORE_UNAVAILABLE, "The store is away.")]

    async def let_go(sha256: str, before_ms: int) -> bool:
        if faults:
            raise faults.pop()
        return True

    collector = BlobCollector(
        blobs, clock, upload_ms=HOUR_MS, every_s=0.01, keep_ms=HOUR_MS, let_go=let_go
    )
    collector.start()

    async def swept() -> bool:
        return await there(blobs) == {NEW}

    await eventually(swept, 5.0)
    await collector.stop()
    await collector.stop()
