"""Who may know of which blob at the federation, from durable rows and live tasks.

A project: what it uploaded, until nobody has asked for it for `keep_ms`. A region: what a live task
at it needs. Anyone else: nothing. What is asked for is kept on, so that between a `StatBlobs` or a
submission and the task that needs a blob, the blob cannot go. Must not touch bytes.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from federation.domain.blobs import ADOPTED, BLOB, BlobOwner, blob_key, blob_shard
from federation.domain.events import AdoptBlobs, ForgetBlob, KeepBlob
from federation.server.task.reads import Tasks
from intertie.pki.identity import Identity
from intertie.pki.spiffe import Role
from intertie.ports import Clock
from intertie.store.blobs import BlobStore
from intertie.store.codec import decoder
from intertie.store.pump import Pump

MAX_REMEMBERED = 200_000
"""Rows whose age is remembered, to spare the store."""
FRESH_PARTS = 8
"""A row is written anew when this part of `keep_ms` has passed since it was."""
_PAGE = 1_000

_decode = decoder(BlobOwner)


class Rights:
    """See the module's text.

    Args:
        pump: makes rows durable.
        tasks: the core, for what live tasks need.
        blobs: its holds keep rows and bytes together.
        clock: what time it is.
        keep_ms: for how long after it was last asked for a blob is kept that no live task needs.
    """

    def __init__(
        self, pump: Pump, tasks: Tasks, blobs: BlobStore, clock: Clock, keep_ms: int
    ) -> None:
        assert keep_ms > 0, "blobs are kept for some time"
        self._pump = pump
        self._tasks = tasks
        self._blobs = blobs
        self._clock = clock
        self._fresh_ms = keep_ms // FRESH_PARTS
        self._used_ms: OrderedDict[tuple[str, str], int] = OrderedDict()

    async def adopt(self) -> None:
        """Let a store that was made before there were rows have those of its live tasks, once."""
        await self._pump.ask(lambda ticket: AdoptBlobs(ticket=ticket), ADOPTED)

    # --- of callers ------------------------------------------------------------------------------

    async def known(self, who: Identity, digests: Sequence[str]) -> frozenset[str]:
        """Those of the digests that a caller may know of."""
        if who.role is Role.PROJECT:
            assert who.project is not None, "a project identity names its project"
            return frozenset(digests) - await self.missing(who.project, digests)
        if who.role is Role.SCHEDULER:
            assert who.region is not None, "a scheduler's identity names its region"
            needs = self._tasks.core.blobs.needs
            return frozenset(d for d in digests if needs.at(who.region, d))
        return frozenset()

    async def uploaded(self, who: Identity, sha256: str, size: int) -> None:
        """A project has shown that it has the bytes. The caller holds the blob."""
        assert who.project is not None, "the table admits projects only"
        await self._keep(who.project, sha256, size)

    async def missing(self, project: str, digests: Iterable[str]) -> frozenset[str]:
        """The digests that a project has not uploaded, or that are gone; the others are kept on."""
        now_ms = self._clock.now().utc_ms
        old = [d for d in set(digests) if not self._is_fresh(project, d, now_ms)]
        if not old:
            return frozenset()
        return frozenset([d for d in old if not await self._has(project, d)])

    async def _has(self, project: str, sha256: str) -> bool:
        async with self._blobs.hold(sha256):
            key = blob_key(sha256, project)
            body = await self._pump.store.get(blob_shard(sha256), BLOB, key)
            if body is None:
                return False
            (stat,) = await self._blobs.stat([sha256])
            if not stat.exists:
                return False
            self._remember(_decode(body))
            if not self._is_fresh(project, sha256, self._clock.now().utc_ms):
                await self._keep(project, sha256, stat.size)
        return True

    async def _keep(self, project: str, sha256: str, size: int) -> None:
        def make(ticket: int) -> KeepBlob:
            return KeepBlob(ticket=ticket, project=project, sha256=sha256, size=size)

        owner = await self._pump.ask(make)
        assert isinstance(owner, BlobOwner), "a blob that is kept is answered with its row"
        self._remember(owner)

    # --- forgetting ------------------------------------------------------------------------------

    async def let_go(self, sha256: str, before_utc_ms: int) -> bool:
        """Erase the rows that nobody asked for since; whether no row is left and no task needs it.

        The caller holds the blob.
        """
        rows = await self._owners(sha256)
        old = tuple(row.project for row in rows if row.used_ms < before_utc_ms)
        if rows and not old:
            return False
        is_free = await self._pump.ask(
            lambda ticket: ForgetBlob(ticket=ticket, sha256=sha256, projects=old)
        )
        if is_free:
            for project in old:
                self._used_ms.pop((sha256, project), None)
        return is_free is True and len(old) == len(rows)

    async def _owners(self, sha256: str) -> Sequence[BlobOwner]:
        owners: list[BlobOwner] = []
        after = ""
        while True:
            rows = await self._pump.store.list_rows(BLOB, sha256, after=after, limit=_PAGE)
            owners += [_decode(row.body) for row in rows]
            if len(rows) < _PAGE:
                return owners
            after = rows[-1].ord

    # --- what is remembered ----------------------------------------------------------------------

    def _is_fresh(self, project: str, sha256: str, now_ms: int) -> bool:
        used_ms = self._used_ms.get((sha256, project))
        return used_ms is not None and now_ms - used_ms < self._fresh_ms

    def _remember(self, owner: BlobOwner) -> None:
        self._used_ms[owner.sha256, owner.project] = owner.used_ms
        if len(self._used_ms) > MAX_REMEMBERED:
            self._used_ms.popitem(last=False)
