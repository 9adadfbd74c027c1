"""Blobs of clients: which project has shown that it has one, and which regions need it now.

A digest is no secret, so it opens nothing: a project may read a blob, and name it in a task, after
it has uploaded its bytes; a region while a live task at it needs them. Who uploaded what is
durable, one row for each (digest, project), in a shard by the digest; it is not kept in memory.
Must not know where bytes are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from federation.domain.events import AdoptBlobs, ForgetBlob, KeepBlob
from intertie.drive.effects import Erase, Reply, Reserve, Write
from intertie.model.names import SHARDS
from intertie.model.spec import TaskSpec
from intertie.model.task import Task

if TYPE_CHECKING:
    from federation.domain.core import FederationCore

BLOB = "blob"
"""Kind of the rows: key `digest/project`, scope the digest, order the project."""
ADOPTED = ("migration", "blob owners", "1")
"""The unique name (space, name, digest) under which AdoptBlobs happens once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobOwner:
    """A project that uploaded a blob. `used_ms`: when it last did, or asked for it (UTC ms)."""

    sha256: str
    project: str
    size: int
    used_ms: int


def blob_shard(sha256: str) -> int:
    """The shard of a blob's rows."""
    return int(sha256[:4], 16) % SHARDS


def blob_key(sha256: str, project: str) -> str:
    """The key of one row."""
    return f"{sha256}/{project}"


def blobs_of(spec: TaskSpec) -> Iterator[tuple[str, str, int]]:
    """The blobs that a spec names: field, digest, size (0 = not said).

    `data` and `model_weights` name places by URI, no blobs.
    """
    if spec.run.function:
        yield "run.function", spec.run.function, 0
    for number, ref in enumerate(spec.run.files):
        yield f"run.files[{number}].sha256", ref.sha256, ref.size


class Needs:
    """Which blobs live tasks need, counted by region ("" = tasks that have none yet)."""

    def __init__(self) -> None:
        self._needs: dict[str, dict[str, int]] = {}

    def __contains__(self, sha256: str) -> bool:
        """Whether a live task needs it, wherever it is."""
        return sha256 in self._needs

    def at(self, region: str, sha256: str) -> bool:
        """Whether a live task at a region needs it."""
        return region in self._needs.get(sha256, ())

    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """How many tasks need each blob, by region."""
        return self._needs

    def change(self, before: Task | None, after: Task | None) -> None:
        """A task came (no `before`), moved, or ended (no `after`)."""
        task = after or before
        assert task is not None, "a change from nothing to nothing"
        assert task.spec is not None, "a live task holds its spec"
        if before is not None and after is not None and before.region == after.region:
            return
        for sha256 in {sha256 for _, sha256, _ in blobs_of(task.spec)}:
            if after is not None:
                self._count(sha256, after.region, 1)
            if before is not None:
                self._count(sha256, before.region, -1)

    def _count(self, sha256: str, region: str, by: int) -> None:
        regions = self._needs.setdefault(sha256, {})
        left = regions.get(region, 0) + by
        assert left >= 0, "more ends than needs"
        if left:
            regions[region] = left
            return
        del regions[region]
        if not regions:
            del self._needs[sha256]


class Blobs:
    """What happens to rows, and what live tasks need."""

    def __init__(self, core: "FederationCore") -> None:
        self._core = core
        self.needs = Needs()

    def handle(self, event: KeepBlob | ForgetBlob | AdoptBlobs) -> None:
        """Apply an event."""
        match event:
            case KeepBlob():
                self._keep(event)
            case ForgetBlob():
                self._forget(event)
            case AdoptBlobs():
                self._adopt(event)

    def _keep(self, event: KeepBlob) -> None:
        """Write a row, or when it was last asked for."""
        owner = self._owner(event.sha256, event.project, event.size)
        self._write(owner)
        self._core.emit(Reply(event.ticket, owner))

    def _forget(self, event: ForgetBlob) -> None:
        """Erase rows, unless a live task needs the blob."""
        is_free = event.sha256 not in self.needs
        if is_free:
            for project in event.projects:
                key = blob_key(event.sha256, project)
                self._core.emit(Erase(blob_shard(event.sha256), BLOB, key))
        self._core.emit(Reply(event.ticket, is_free))

    def _adopt(self, event: AdoptBlobs) -> None:
        """Write the rows of what live tasks need, once for a store."""
        seen: dict[tuple[str, str], BlobOwner] = {}
        for task in self._core.tasks.values():
            assert task.spec is not None, "a live task holds its spec"
            for _, sha256, size in blobs_of(task.spec):
                seen[sha256, task.project] = self._owner(sha256, task.project, size)
        for owner in seen.values():
            self._write(owner)
        space, name, digest = ADOPTED
        self._core.emit(Reserve(0, space, name, digest, ""))
        self._core.emit(Reply(event.ticket, None))

    def _owner(self, sha256: str, project: str, size: int) -> BlobOwner:
        now_ms = self._core.now.utc_ms
        return BlobOwner(sha256=sha256, project=project, size=size, used_ms=now_ms)

    def _write(self, owner: BlobOwner) -> None:
        shard, key = blob_shard(owner.sha256), blob_key(owner.sha256, owner.project)
        self._core.emit(Write(shard, BLOB, key, owner, owner.sha256, owner.project))
