"""What an ended run leaves: outputs, logs and its last checkpoint, brought to the region's root.

No process of the run lives any more. A region that is away is waited for; what is at fault with an
output is told with the end, and does not keep the logs.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from edge_agent.adapters.files.confined import Confined, RefusedError
from edge_agent.adapters.files.folders import Folders, RunFolders
from edge_agent.adapters.region.blobs import RegionBlobs
from edge_agent.adapters.work.checkpoints import Checkpoints
from edge_agent.adapters.work.sources import TaskFile, log_pieces
from edge_agent.domain.events import Collect, Collected
from intertie.errors import IntertieError
from intertie.model.task import StoredFile
from intertie.model.texts import relative_path_fault
from intertie.telemetry.logs import logger

STREAMS = ("stdout", "stderr")

_log = logger(__name__)


class Collector:
    """See the module's text."""

    def __init__(self, folders: Folders, blobs: RegionBlobs, checkpoints: Checkpoints) -> None:
        self._folders = folders
        self._blobs = blobs
        self._checkpoints = checkpoints

    async def collect(self, order: Collect) -> Collected:
        """Upload everything; the event that says what there is."""
        folders = self._folders.of(order.key)
        place = Confined(Path(folders.out), self._folders.uid(order.slot))
        outputs, fault = await self._outputs(place, order.order.outputs)
        logs = await self._logs(folders)
        saved = None
        if order.above_step is not None:
            saved = await self._checkpoints.save(order.key, order.slot, order.above_step)
        return Collected(key=order.key, outputs=outputs, logs=logs, saved=saved, fault=fault)

    async def _outputs(
        self, place: Confined, paths: Sequence[str]
    ) -> tuple[tuple[StoredFile, ...], str]:
        found: list[TaskFile] = []
        faults: list[str] = []
        for path in paths:
            try:
                found += await asyncio.to_thread(_output, place, path)
            except FileNotFoundError:
                faults.append(f"the output {path} was not written")
            except (RefusedError, OSError) as fault:
                faults.append(f"the output {path} cannot be kept: {fault}")
        try:
            await self._blobs.upload(found)
        except (IntertieError, RefusedError, OSError) as fault:
            return (), "; ".join([*faults, f"the outputs cannot be kept: {fault}"])
        return tuple(_stored(file, file.path) for file in found), "; ".join(faults)

    async def _logs(self, folders: RunFolders) -> tuple[StoredFile, ...]:
        kept: list[StoredFile] = []
        for stream in STREAMS:
            pieces = await asyncio.to_thread(log_pieces, folders.log(stream))
            try:
                await self._blobs.upload(pieces)
            except (IntertieError, OSError) as fault:
                _log.warning("log not kept", folder=folders.root, why=str(fault))
                continue
            kept += [
                StoredFile(path=stream, sha256=p.sha256, size=p.size, start=p.start) for p in pieces
            ]
        return tuple(kept)


def _output(place: Confined, path: str) -> list[TaskFile]:
    fault = relative_path_fault(path)
    if fault:
        raise RefusedError(fault)
    return [TaskFile.of(place, each) for each in place.files(path)]


def _stored(file: TaskFile, path: str) -> StoredFile:
    return StoredFile(path=path, sha256=file.sha256, size=file.size)
