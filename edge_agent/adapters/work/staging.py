"""Staging: the files of a run and the checkpoint to resume from, brought into its folders.

Everything is verified by digest; paths are checked although the region has checked them. Waits for
a region that is away, since a run is accepted for good.
"""

import asyncio
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from edge_agent.adapters.files.cache import BlobCache, make_parents, place
from edge_agent.adapters.files.folders import Folders
from edge_agent.adapters.files.trees import Trees
from edge_agent.adapters.region.blobs import RegionBlobs
from edge_agent.domain.events import Stage, Staged, StagingFailed
from intertie.errors import IntertieError, invalid
from intertie.model.manifest import MAX_BYTES, decode_manifest
from intertie.model.spec import FileRef
from intertie.model.texts import clashes, relative_path_fault


class Stager:
    """See the module's text."""

    def __init__(
        self, folders: Folders, trees: Trees, cache: BlobCache, blobs: RegionBlobs
    ) -> None:
        self._folders = folders
        self._trees = trees
        self._cache = cache
        self._blobs = blobs

    async def stage(self, order: Stage) -> Staged | StagingFailed:
        """Bring everything here; the event that says so, or why it cannot be."""
        try:
            return await self._stage(order)
        except IntertieError as fault:
            return StagingFailed(key=order.key, message=str(fault))
        except OSError as fault:
            return StagingFailed(key=order.key, message=f"the node's disk: {fault.strerror}")

    async def _stage(self, order: Stage) -> Staged:
        folders = self._trees.make(order.key, order.slot)
        uid = self._folders.uid(order.slot)
        start = order.order
        modes = (*start.modes, *(0o644 for _ in start.files[len(start.modes) :]))
        files = [
            FileRef(path=f.path, sha256=f.sha256, size=f.size, mode=mode)
            for f, mode in zip(start.files, modes, strict=False)
        ]
        await self._fill(Path(folders.work), files, uid)
        resumed = 0
        if start.checkpoint is not None:
            data = await self._blobs.get(start.checkpoint.manifest, MAX_BYTES)
            manifest = decode_manifest(data)
            entry = make_parents(Path(folders.checkpoint), str(manifest.step), uid)
            inside = [_below(entry.name, ref) for ref in manifest.files]
            await self._fill(Path(folders.checkpoint), inside, uid)
            resumed = manifest.step
        return Staged(key=order.key, resumed_step=resumed)

    async def _fill(self, root: Path, files: list[FileRef], uid: int | None) -> None:
        _check(files)
        with self._cache.holding(ref.sha256 for ref in files):
            for ref in files:
                fetch = partial(self._blobs.download, ref.sha256, ref.size)
                await self._cache.need(ref.sha256, ref.size, fetch)
            await asyncio.to_thread(self._place_all, root, files, uid)

    def _place_all(self, root: Path, files: Iterable[FileRef], uid: int | None) -> None:
        for ref in files:
            target = make_parents(root, ref.path, uid)
            place(self._cache.path(ref.sha256), target, ref.mode, uid)


def _below(folder: str, ref: FileRef) -> FileRef:
    return FileRef(path=f"{folder}/{ref.path}", sha256=ref.sha256, size=ref.size, mode=ref.mode)


def _check(files: list[FileRef]) -> None:
    for index, ref in enumerate(files):
        fault = relative_path_fault(ref.path)
        if fault:
            raise invalid(f"files[{index}].path", fault)
        if len(ref.sha256) != 64 or not set(ref.sha256) <= set("0123456789abcdef"):
            raise invalid(f"files[{index}].sha256", "is not 64 lower-case hexadecimal digits")
    for index, why in clashes(ref.path for ref in files):
        raise invalid(f"files[{index}].path", why)
