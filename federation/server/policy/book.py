"""The residency policy: bodies by digest in SQL, the pointer to the one that holds in the ledger.

The ledger is etcd where there is one, so that every replica follows; a pointer moves only over the
one that was read (etag). What this replica knew last stays in force while etcd is away, and is
found again in SQL after a restart. Must not judge, nor decide who may set it.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from intertie.errors import IntertieError, Reason, error
from intertie.model.link import PolicyUpdate
from intertie.ports import Clock, FencedError, Put, ShardCommit, Store, StoreUnavailableError
from intertie.residency import NONE, Policy
from intertie.residency.reading import decode_policy
from intertie.store.codec import decoder, encode
from intertie.store.enrollment.ledger import Ledger
from intertie.store.etcd.port import Absent, Membership, Resync, Unchanged, WatchEvent, Write
from intertie.store.etcd.port import Put as KeyPut
from intertie.telemetry.logs import logger

SHARD = 81
"""Of our store; far from those of tasks, of the mirror, and of joining."""
BODY, VERSION = "policy_body", "policy_version"
PREFIX = "policy/"
POINTER = "policy/current"
AGAIN_S = 1.0
POINTER_WITHIN_S = 3.0
"""How long a start waits for the ledger: loss of etcd stops nothing."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version: its number from 1, digest, and who set it, when, why."""

    revision: int = 0
    sha256: str = NONE.sha256
    set_ms: int = 0
    setter: str = ""
    reason: str = ""
    request_id: str = ""

    @property
    def etag(self) -> str:
        """Changes with each version."""
        return f"{self.revision}-{self.sha256[:16]}"


_version = decoder(Version)


class PolicyBook:
    """See the module's text.

    Args:
        store: has the bodies.
        ledger: has the pointer.
        clock: says when a version was set.
        changed: told of every version that comes to hold, once it does.
    """

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        clock: Clock,
        changed: Callable[[Policy], None],
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._clock = clock
        self._changed = changed
        self._watching: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self.version = Version()
        self.policy: Policy = NONE

    async def open(self) -> None:
        """Take up the newest version that our store knows, then what the ledger says, if it can."""
        known = await self.versions(1)
        if known:
            await self._take(known[0])
        try:
            async with asyncio.timeout(POINTER_WITHIN_S):
                await self._read_pointer()
        except (IntertieError, TimeoutError) as problem:
            _log.warning(
                "the policy's pointer cannot be read; the last known holds", why=str(problem)
            )

    def follow(self, etcd: Membership) -> None:
        """Take over what other replicas set, in the background."""
        self._watching = asyncio.create_task(self._watch(etcd), name="policy pointer")

    async def close(self) -> None:
        """Follow no longer; idempotent."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
            self._watching = None

    async def set(
        self, policy: Policy, *, etag: str, setter: str, reason: str, request_id: str
    ) -> Version:
        """Make a policy hold. The same request again gives the same version.

        Raises:
            IntertieError: ETAG_MISMATCH, STORE_UNAVAILABLE, or UNREACHABLE without the ledger.
        """
        async with self._lock:
            entry = await self._ledger.get(POINTER)
            standing = _version(entry.value) if entry is not None else Version()
            if standing.request_id == request_id and standing.sha256 == policy.sha256:
                await self._take(standing)
                return standing
            if etag and etag != standing.etag:
                raise _replaced(standing)
            made = Version(
                revision=standing.revision + 1,
                sha256=policy.sha256,
                set_ms=self._clock.now().utc_ms,
                setter=setter,
                reason=reason,
                request_id=request_id,
            )
            await self._commit([Put(BODY, made.sha256, policy.canonical if policy.is_set else b"")])
            guard = Absent(POINTER) if entry is None else Unchanged(POINTER, entry.mod_revision)
            done = await self._ledger.txn((guard,), (Write(POINTER, encode(made)),))
            if not done.succeeded:
                raise _replaced(standing)
            await self._take(made)
            return made

    def update(self) -> PolicyUpdate:
        """What regions are told of the version that holds."""
        body = self.policy.canonical if self.policy.is_set else b""
        return PolicyUpdate(revision=self.version.revision, sha256=self.version.sha256, body=body)

    async def get(self, sha256: str) -> tuple[Version, Policy] | None:
        """A version by its digest, the newest that had it."""
        for version in await self.versions(1_000):
            if version.sha256 == sha256:
                return version, await self._body(sha256)
        return None

    async def versions(self, limit: int, before: int = 0) -> list[Version]:
        """Versions, the newest first, older than one if given."""
        rows = await self._store.list_rows(
            VERSION, VERSION, before=_order(before) if before else "", limit=limit, descending=True
        )
        return [_version(row.body) for row in rows]

    # --- taking over -----------------------------------------------------------------------------

    async def _read_pointer(self) -> None:
        entry = await self._ledger.get(POINTER)
        if entry is not None:
            await self._take(_version(entry.value))

    async def _take(self, version: Version) -> None:
        """Go by a version from now on; an older one changes nothing."""
        if version.revision <= self.version.revision:
            return
        policy = await self._body(version.sha256)
        order = _order(version.revision)
        await self._commit([Put(VERSION, order, encode(version), VERSION, order)])
        self.version, self.policy = version, policy
        _log.info("residency policy", revision=version.revision, sha256=version.sha256)
        self._changed(policy)

    async def _body(self, sha256: str) -> Policy:
        body = await self._store.get(SHARD, BODY, sha256)
        if body is None:
            raise error(Reason.STORE_UNAVAILABLE, f"The body of policy {sha256} is not here yet.")
        return decode_policy(body)

    async def _commit(self, puts: list[Put]) -> None:
        try:
            head = await self._store.acquire(SHARD)
            await self._store.commit([ShardCommit(SHARD, head.epoch, 0, puts)])
        except (FencedError, StoreUnavailableError) as problem:
            raise error(
                Reason.STORE_UNAVAILABLE, f"The store did not confirm: {problem}."
            ) from None

    async def _watch(self, etcd: Membership) -> None:
        async with aclosing(etcd.watch(PREFIX)) as changes:
            async for change in changes:
                for value in _values(change):
                    await self._take_at_last(_version(value))

    async def _take_at_last(self, version: Version) -> None:
        while True:
            try:
                async with self._lock:
                    return await self._take(version)
            except (IntertieError, StoreUnavailableError) as problem:
                _log.warning("a policy cannot be taken over yet", why=str(problem))
                await asyncio.sleep(AGAIN_S)


def _values(change: WatchEvent) -> list[bytes]:
    match change:
        case Resync(entries=entries):
            return [entry.value for entry in entries if entry.key == POINTER]
        case KeyPut(entry=entry) if entry.key == POINTER:
            return [entry.value]
        case _:
            return []


def _order(revision: int) -> str:
    return f"{revision:012d}"


def _replaced(standing: Version) -> IntertieError:
    who = f" by {standing.setter}" if standing.setter else ""
    return error(
        Reason.ETAG_MISMATCH,
        f"The policy is at revision {standing.revision}, set{who} meanwhile.",
        remedy="Read it again (intertie policy get), and set it with its etag.",
        metadata={"etag": standing.etag},
    )
