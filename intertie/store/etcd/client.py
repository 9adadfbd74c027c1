"""`Membership` on a real etcd cluster, over grpc.aio.

Each operation has a deadline and moves to another member when one fails or does not answer. Reads
are repeated freely; a write is repeated only where the caller vouches for it or where it was surely
not sent (`attempts`). Must not interpret keys or values.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import grpc
import grpc.aio

from intertie.api.etcd.v3 import etcd_pb2 as pb
from intertie.store.etcd import rpc
from intertie.store.etcd.attempts import Attempts
from intertie.store.etcd.channels import CallEndedError, Cluster, Limits, Member, Tls
from intertie.store.etcd.faults import LeaseGoneError
from intertie.store.etcd.port import (
    Entry,
    Guard,
    Lease,
    Listing,
    Remove,
    TxnResult,
    WatchEvent,
    Write,
)
from intertie.store.etcd.reads import read_prefix
from intertie.store.etcd.watch import follow


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """One member as it answered, or the reason why it did not (`fault`)."""

    endpoint: str
    version: str = ""
    is_leader: bool = False
    database_bytes: int = 0
    fault: str = ""


class EtcdClient:
    """See `port.Membership` for the operations. Make it inside the event loop that uses it.

    Args:
        endpoints: `host:port` of each member.
        tls: client certificate and trust root; None speaks plain text (a loopback etcd only).
        limits: deadlines and sizes.
    """

    def __init__(
        self, endpoints: Sequence[str], *, tls: Tls | None = None, limits: Limits | None = None
    ) -> None:
        self._limits = limits or Limits()
        self._cluster = Cluster(endpoints, tls, self._limits)

    async def get(self, key: str) -> Entry | None:
        """Read a key, linearizable."""
        response = await self._range(pb.RangeRequest(key=rpc.key_to_pb(key)), f"read {key}")
        return rpc.entry_from_pb(response.kvs[0]) if response.kvs else None

    async def list(self, prefix: str) -> Listing:
        """Read all keys under a prefix at one revision, linearizable."""
        _, listing = await read_prefix(
            lambda request: self._range(request, f"list {prefix}"),
            prefix,
            page_keys=self._limits.page_keys,
        )
        return listing

    async def txn(
        self,
        guards: tuple[Guard, ...],
        operations: tuple[Write | Remove, ...],
        *,
        repeatable: bool = False,
    ) -> TxnResult:
        """Do all operations at one revision if all guards hold, else nothing."""
        assert len({o.key for o in operations}) == len(operations), "each key at most once"
        request = rpc.txn_to_pb(guards, operations)
        leases = [o.lease for o in operations if isinstance(o, Write) and o.lease]

        async def once(member: Member, timeout_s: float) -> pb.TxnResponse:
            try:
                return await member.call(rpc.TXN, request, timeout_s=timeout_s)
            except grpc.aio.AioRpcError as fault:
                if leases and fault.code() is grpc.StatusCode.NOT_FOUND:
                    raise LeaseGoneError(leases[0]) from fault
                raise

        doing = "write " + ", ".join(operation.key for operation in operations)
        attempts = self._attempts(doing, changes=True, repeatable=repeatable)
        return rpc.txn_result_from_pb(await attempts.run(once))

    async def grant(self, ttl_s: int) -> Lease:
        """Make a lease. If an answer is lost another one is made; the first ends by itself."""
        request = pb.LeaseGrantRequest(ttl=ttl_s)
        attempts = self._attempts("grant a lease", changes=True, repeatable=True)
        response = await attempts.run(
            lambda member, timeout_s: member.call(rpc.GRANT, request, timeout_s=timeout_s)
        )
        return Lease(response.id, response.ttl)

    async def renew(self, lease: int, *, timeout_s: float) -> Lease:
        """Renew a lease once. Raises LeaseGoneError if it has ended."""

        async def once(member: Member, attempt_s: float) -> pb.LeaseKeepAliveResponse:
            stream = member.stream(rpc.KEEP_ALIVE, timeout_s=attempt_s)
            try:
                await stream.send(pb.LeaseKeepAliveRequest(id=lease))
                return await stream.receive()
            finally:
                stream.close()

        attempts = self._attempts(f"renew lease {lease:x}", within_s=timeout_s, repeatable=True)
        response = await attempts.run(once)
        if response.ttl <= 0:
            raise LeaseGoneError(lease)
        return Lease(lease, response.ttl)

    async def revoke(self, lease: int) -> None:
        """End a lease and delete its keys; ending one that does not exist is no fault."""
        request = pb.LeaseRevokeRequest(id=lease)

        async def once(member: Member, timeout_s: float) -> None:
            try:
                await member.call(rpc.REVOKE, request, timeout_s=timeout_s)
            except grpc.aio.AioRpcError as fault:
                if fault.code() is not grpc.StatusCode.NOT_FOUND:
                    raise

        await self._attempts(f"revoke lease {lease:x}", changes=True, repeatable=True).run(once)

    def watch(self, prefix: str) -> AsyncGenerator[WatchEvent, None]:
        """Follow a prefix for ever: first a Resync, then each change once, in order."""
        return follow(self._cluster, prefix, self._limits)

    async def compact(self, revision: int) -> None:
        """Forget the history before a revision; doing it again is no fault."""
        request = pb.CompactionRequest(revision=revision)

        async def once(member: Member, timeout_s: float) -> None:
            try:
                await member.call(rpc.COMPACT, request, timeout_s=timeout_s)
            except grpc.aio.AioRpcError as fault:
                if "has been compacted" not in (fault.details() or ""):
                    raise

        await self._attempts("compact its history", changes=True, repeatable=True).run(once)

    async def status(self) -> Sequence[MemberStatus]:
        """Ask every member how it is; never fails."""
        return await asyncio.gather(*(self._status(member) for member in self._cluster.members))

    async def replace_tls(self, tls: Tls) -> None:
        """Go on with other certificates. Calls under way are repeated, watches resume."""
        await self._cluster.replace_tls(tls)

    async def close(self) -> None:
        """Close all connections; idempotent. Watches end."""
        await self._cluster.close()

    async def _range(self, request: pb.RangeRequest, doing: str) -> pb.RangeResponse:
        return await self._attempts(doing, repeatable=True).run(
            lambda member, timeout_s: member.call(rpc.RANGE, request, timeout_s=timeout_s)
        )

    def _attempts(
        self,
        doing: str,
        *,
        within_s: float | None = None,
        changes: bool = False,
        repeatable: bool,
    ) -> Attempts:
        return Attempts(
            self._cluster,
            self._limits,
            doing,
            within_s=self._limits.call_s if within_s is None else within_s,
            changes=changes,
            repeatable=repeatable,
        )

    async def _status(self, member: Member) -> MemberStatus:
        try:
            answer = await member.call(
                rpc.STATUS, pb.StatusRequest(), timeout_s=self._limits.attempt_s
            )
        except (grpc.aio.AioRpcError, CallEndedError) as fault:
            return MemberStatus(member.target, fault=str(fault))
        return MemberStatus(
            member.target,
            version=answer.version,
            is_leader=answer.leader == answer.header.member_id,
            database_bytes=answer.db_size,
        )
