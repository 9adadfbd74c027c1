"""Linearizable reads of a prefix, page by page at one revision."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from intertie.api.etcd.v3 import etcd_pb2 as pb
from intertie.store.etcd.port import Listing
from intertie.store.etcd.rpc import entry_from_pb, prefix_range

ReadRange = Callable[[pb.RangeRequest], Awaitable[pb.RangeResponse]]


@dataclass(frozen=True, slots=True)
class Head:
    """How far which cluster has come. A linearizable read: no committed revision is above it."""

    cluster_id: int
    revision: int


async def read_head(read: ReadRange) -> Head:
    """Ask for the newest revision."""
    response = await read(pb.RangeRequest(key=b"\0", count_only=True))
    return Head(response.header.cluster_id, response.header.revision)


async def read_prefix(read: ReadRange, prefix: str, *, page_keys: int) -> tuple[Head, Listing]:
    """Read all keys under a prefix as of one revision, which the first page fixes."""
    first, end = prefix_range(prefix)
    request = pb.RangeRequest(key=first, range_end=end, limit=page_keys)
    response = await read(request)
    head = Head(response.header.cluster_id, response.header.revision)
    entries = [entry_from_pb(kv) for kv in response.kvs]
    while response.more:
        request.key = response.kvs[-1].key + b"\0"
        request.revision = head.revision
        response = await read(request)
        entries += [entry_from_pb(kv) for kv in response.kvs]
    return head, Listing(head.revision, tuple(entries))
