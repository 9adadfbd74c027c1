"""Training checkpoints of a run: find the newest complete one, bring it to the region's blob root.

An entry is a folder `<step>` that appeared by a rename, so it is whole. The task goes on meanwhile
and may drop an older entry while it is read: then the next look finds a newer one.
"""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from edge_agent.adapters.files.confined import Confined, RefusedError
from edge_agent.adapters.files.folders import Folders
from edge_agent.adapters.region.blobs import RegionBlobs
from edge_agent.adapters.work.sources import Bytes, TaskFile
from edge_agent.domain.events import RunKey, SavedCheckpoint
from intertie.errors import IntertieError
from intertie.model.manifest import Manifest, encode_manifest
from intertie.model.spec import FileRef
from intertie.ports import Clock
from intertie.telemetry.logs import logger

MAX_STEP = 1 << 43
TRIES = 3

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class _Entry:
    step: int
    written_utc_ms: int


class Checkpoints:
    """See the module's text."""

    def __init__(self, folders: Folders, blobs: RegionBlobs, clock: Clock) -> None:
        self._folders = folders
        self._blobs = blobs
        self._clock = clock

    async def save(self, key: RunKey, slot: int, above_step: int) -> SavedCheckpoint | None:
        """Upload the newest entry above a step; None if there is none that can be read."""
        place = Confined(Path(self._folders.of(key).checkpoint), self._folders.uid(slot))
        for _ in range(TRIES):
            entry = await asyncio.to_thread(_newest, place, above_step)
            if entry is None:
                return None
            try:
                return await self._save(place, entry)
            except FileNotFoundError:
                continue  # the task has dropped it: there is a newer one
            except (RefusedError, IntertieError, OSError) as fault:
                _log.warning("checkpoint not saved", run=str(key), step=entry.step, why=str(fault))
                return None
        return None

    async def _save(self, place: Confined, entry: _Entry) -> SavedCheckpoint:
        files = await asyncio.to_thread(_files, place, str(entry.step))
        await self._blobs.upload(files)
        prefix = len(f"{entry.step}/")
        manifest = Manifest(
            step=entry.step,
            files=tuple(
                FileRef(path=f.path[prefix:], sha256=f.sha256, size=f.size, mode=f.mode)
                for f in files
            ),
        )
        blob = Bytes(encode_manifest(manifest))
        await self._blobs.upload([blob])
        now = self._clock.now()
        age_ms = max(0, now.utc_ms - entry.written_utc_ms)
        return SavedCheckpoint(
            step=entry.step,
            manifest=blob.sha256,
            size=manifest.size,
            written_ns=now.boot_ns - age_ms * 1_000_000,
        )


def _newest(place: Confined, above_step: int) -> _Entry | None:
    """The highest step; its change time is when it got its name."""
    best: _Entry | None = None
    try:
        entries = os.scandir(place.folder)
    except FileNotFoundError:
        return None
    with entries:
        for entry in entries:
            name = entry.name
            if not (name.isascii() and name.isdecimal() and str(int(name[:20])) == name):
                continue
            step = int(name)
            if not above_step < step < MAX_STEP or not entry.is_dir(follow_symlinks=False):
                continue
            if best is None or step > best.step:
                changed_ns = entry.stat(follow_symlinks=False).st_ctime_ns
                best = _Entry(step, changed_ns // 1_000_000)
    return best


def _files(place: Confined, folder: str) -> list[TaskFile]:
    found = [TaskFile.of(place, path) for path in place.files(folder)]
    if not found:
        raise RefusedError("it is empty")
    return found
