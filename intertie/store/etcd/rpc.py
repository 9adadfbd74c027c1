"""etcd's methods by raw path, and the translation between our values and etcd's messages.

The only file, with `client` and `watch`, that touches the generated messages.
"""

from collections.abc import Iterable, Sequence

from intertie.api.etcd.v3 import etcd_pb2 as pb
from intertie.store.etcd.channels import Method
from intertie.store.etcd.port import (
    Absent,
    Delete,
    Entry,
    Guard,
    Put,
    Remove,
    TxnResult,
    Unchanged,
    UnderLease,
    Write,
)

RANGE = Method("/etcdserverpb.KV/Range", pb.RangeRequest, pb.RangeResponse)
TXN = Method("/etcdserverpb.KV/Txn", pb.TxnRequest, pb.TxnResponse)
COMPACT = Method("/etcdserverpb.KV/Compact", pb.CompactionRequest, pb.CompactionResponse)
WATCH = Method("/etcdserverpb.Watch/Watch", pb.WatchRequest, pb.WatchResponse)
GRANT = Method("/etcdserverpb.Lease/LeaseGrant", pb.LeaseGrantRequest, pb.LeaseGrantResponse)
REVOKE = Method("/etcdserverpb.Lease/LeaseRevoke", pb.LeaseRevokeRequest, pb.LeaseRevokeResponse)
KEEP_ALIVE = Method(
    "/etcdserverpb.Lease/LeaseKeepAlive", pb.LeaseKeepAliveRequest, pb.LeaseKeepAliveResponse
)
STATUS = Method("/etcdserverpb.Maintenance/Status", pb.StatusRequest, pb.StatusResponse)


def key_to_pb(key: str) -> bytes:
    """A key as etcd has it."""
    return key.encode(errors="surrogateescape")


def key_from_pb(key: bytes) -> str:
    """A key as text. One that is no UTF-8 was not written by us; it must not break a watch."""
    return key.decode(errors="surrogateescape")


def prefix_range(prefix: str) -> tuple[bytes, bytes]:
    """First key and exclusive end of all keys that start with `prefix`; "" is every key."""
    if not prefix:
        return b"\0", b"\0"
    first = prefix.encode()
    # UTF-8 never ends in 0xFF, so adding one to the last byte cannot carry.
    return first, first[:-1] + bytes([first[-1] + 1])


def entry_from_pb(kv: pb.KeyValue) -> Entry:
    """A key as it stands."""
    return Entry(
        key=key_from_pb(kv.key),
        value=kv.value,
        create_revision=kv.create_revision,
        mod_revision=kv.mod_revision,
        lease=kv.lease,
    )


def change_from_pb(event: pb.Event) -> Put | Delete:
    """A change of a key."""
    if event.type == pb.Event.EVENT_TYPE_PUT:
        return Put(entry_from_pb(event.kv))
    return Delete(key_from_pb(event.kv.key), event.kv.mod_revision)


def txn_to_pb(guards: Sequence[Guard], operations: Iterable[Write | Remove]) -> pb.TxnRequest:
    """A transaction that reads its guarded keys when it is refused."""
    return pb.TxnRequest(
        compare=[_guard_to_pb(guard) for guard in guards],
        success=[_operation_to_pb(operation) for operation in operations],
        failure=[
            pb.RequestOp(request_range=pb.RangeRequest(key=key_to_pb(key)))
            for key in dict.fromkeys(guard.key for guard in guards)
        ],
    )


def txn_result_from_pb(response: pb.TxnResponse) -> TxnResult:
    """What a transaction did, or what stood in its way."""
    standing = {}
    if not response.succeeded:
        found = [entry_from_pb(kv) for r in response.responses for kv in r.response_range.kvs]
        standing = {entry.key: entry for entry in found}
    return TxnResult(response.succeeded, response.header.revision, standing)


def _guard_to_pb(guard: Guard) -> pb.Compare:
    key, equal = key_to_pb(guard.key), pb.Compare.RESULT_EQUAL
    match guard:
        case Absent():
            return pb.Compare(
                key=key, result=equal, target=pb.Compare.TARGET_CREATE, create_revision=0
            )
        case Unchanged():
            assert guard.mod_revision > 0, "use Absent for a key that does not exist"
            return pb.Compare(
                key=key,
                result=equal,
                target=pb.Compare.TARGET_MOD,
                mod_revision=guard.mod_revision,
            )
        case UnderLease():
            assert guard.lease != 0, "every missing key is under lease 0"
            return pb.Compare(
                key=key, result=equal, target=pb.Compare.TARGET_LEASE, lease=guard.lease
            )


def _operation_to_pb(operation: Write | Remove) -> pb.RequestOp:
    key = key_to_pb(operation.key)
    match operation:
        case Write():
            put = pb.PutRequest(key=key, value=operation.value, lease=operation.lease)
            return pb.RequestOp(request_put=put)
        case Remove():
            return pb.RequestOp(request_delete_range=pb.DeleteRangeRequest(key=key))
