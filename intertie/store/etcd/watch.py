"""Follow a prefix through outages: never miss a change, never tell one twice.

`WatchCursor` decides what a response means and is pure; `follow` moves bytes. A break in the stream
is healed by a new one, at another member if there is one, from the revision after the last one
told. Three things make that impossible, and then everything is listed again and told as a `Resync`:
the wanted revision is compacted, the cluster is another one, or its revision went backwards (a
backup was restored). Listing too often is harmless; missing a change is not.

A silent stream proves nothing, so the member is asked for a sign of life every beat. Its answer
never moves the cursor: before 3.4.25 and 3.5.8 etcd may answer with a revision whose events are
still to come (etcd issue 15220).
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import Enum

import grpc.aio
import structlog

from intertie.api.etcd.v3 import etcd_pb2 as pb
from intertie.store.etcd.channels import CallEndedError, Cluster, Limits, Member, Stream
from intertie.store.etcd.port import Delete, Listing, Put, Resync, WatchEvent
from intertie.store.etcd.reads import Head, read_head, read_prefix
from intertie.store.etcd.rpc import RANGE, WATCH, change_from_pb, prefix_range

_log = structlog.get_logger(__name__)
_BROKEN = (grpc.aio.AioRpcError, CallEndedError, TimeoutError)


class Verdict(Enum):
    """What to do after a response."""

    GO_ON = "go on"
    REOPEN = "open another stream at the next revision"
    LIST_AGAIN = "changes may be missing: list everything"


@dataclass(frozen=True, slots=True)
class Batch:
    """A response on a watch, in plain values."""

    events: tuple[Put | Delete, ...] = ()
    cancelled: bool = False
    compact_revision: int = 0


@dataclass(slots=True)
class WatchCursor:
    """How far one watch has been told. All events up to `head.revision` are out, none after it."""

    head: Head

    def fits(self, head: Head) -> bool:
        """Whether the cluster, as read just now, is the one that we follow and not behind us."""
        return head.cluster_id == self.head.cluster_id and head.revision >= self.head.revision

    def take(self, batch: Batch) -> tuple[Verdict, Sequence[Put | Delete]]:
        """Move over a response; returns the changes that are to be told now."""
        if batch.cancelled:
            gone = batch.compact_revision > 0
            return (Verdict.LIST_AGAIN if gone else Verdict.REOPEN), ()
        fresh = [event for event in batch.events if revision_of(event) > self.head.revision]
        if fresh:
            self.head = Head(self.head.cluster_id, revision_of(fresh[-1]))
        return Verdict.GO_ON, fresh


def revision_of(event: Put | Delete) -> int:
    """The revision at which the change was made."""
    return event.entry.mod_revision if isinstance(event, Put) else event.revision


async def follow(cluster: Cluster, prefix: str, limits: Limits) -> AsyncGenerator[WatchEvent, None]:
    """Tell the state of a prefix, then every change, until the cluster is closed."""
    cursor: WatchCursor | None = None
    pause_s = limits.backoff_s
    while not cluster.closed:
        member = await cluster.connected(limits.attempt_s)
        if member is None:
            continue
        try:
            if cursor is None or not cursor.fits(await _head(member, limits)):
                head, listing = await _listing(member, prefix, limits)
                cursor = WatchCursor(head)
                yield Resync(listing.revision, listing.entries)
            stream = _batches(member, prefix, cursor.head.revision + 1, limits)
            async with contextlib.aclosing(stream):
                async for batch in stream:
                    pause_s = limits.backoff_s
                    verdict, events = cursor.take(batch)
                    for event in events:
                        yield event
                    if verdict is not Verdict.GO_ON:
                        cursor = None if verdict is Verdict.LIST_AGAIN else cursor
                        break
        except _BROKEN as fault:
            _log.info("etcd watch broke", prefix=prefix, endpoint=member.target, fault=_why(fault))
            cluster.suspect(member)
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, limits.backoff_max_s)


async def _head(member: Member, limits: Limits) -> Head:
    return await read_head(lambda r: member.call(RANGE, r, timeout_s=limits.attempt_s))


async def _listing(member: Member, prefix: str, limits: Limits) -> tuple[Head, Listing]:
    return await read_prefix(
        lambda request: member.call(RANGE, request, timeout_s=limits.attempt_s),
        prefix,
        page_keys=limits.page_keys,
    )


async def _batches(
    member: Member, prefix: str, start_revision: int, limits: Limits
) -> AsyncGenerator[Batch, None]:
    """One stream at one member. Raises one of `_BROKEN` when it breaks or falls silent."""
    first, end = prefix_range(prefix)
    create = pb.WatchCreateRequest(key=first, range_end=end, start_revision=start_revision)
    stream = member.stream(WATCH)
    async with asyncio.timeout(limits.silence_s):
        await stream.send(pb.WatchRequest(create_request=create))
    asking = asyncio.create_task(_ask_for_life(stream, limits.beat_s))
    try:
        while True:
            async with asyncio.timeout(limits.silence_s):
                response = await stream.receive()
            if response.events or response.canceled:
                yield _batch_from_pb(response)
    finally:
        asking.cancel()
        stream.close()
        await asyncio.gather(asking, return_exceptions=True)


async def _ask_for_life(stream: Stream[pb.WatchRequest, pb.WatchResponse], beat_s: float) -> None:
    """Ask for progress every beat. A failure to write shows as silence at the reader."""
    with contextlib.suppress(*_BROKEN):
        while True:
            await asyncio.sleep(beat_s)
            await stream.send(pb.WatchRequest(progress_request=pb.WatchProgressRequest()))


def _why(fault: Exception) -> str:
    if isinstance(fault, grpc.aio.AioRpcError):
        return f"{fault.code().name}: {fault.details()}"
    return str(fault) or "no sign of life"


def _batch_from_pb(response: pb.WatchResponse) -> Batch:
    return Batch(
        events=tuple(change_from_pb(event) for event in response.events),
        cancelled=response.canceled,
        compact_revision=response.compact_revision,
    )
