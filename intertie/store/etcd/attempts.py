"""One operation on the cluster: its deadline, its attempts, and what its failure means.

Answers the one question that matters after a failure: may it have been applied? Must not know what
the operation does.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc
import grpc.aio
from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    stop_before_delay,
    wait_exponential,
    wait_random,
)

from intertie.store.etcd.channels import CallEndedError, Cluster, Limits, Member
from intertie.store.etcd.faults import EtcdRefusedError, EtcdUnavailableError, OutcomeUnknownError

T = TypeVar("T")
Call = Callable[[Member, float], Awaitable[T]]
"""Calls a member within so many seconds."""

_NO_ANSWER = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
    }
)
"""Status codes that do not say whether the request took effect."""

_NO_LEADER = "etcdserver: no leader"
"""Refused by the member before anything was proposed (`REQUIRE_LEADER`)."""

_LEAST_S = 0.05


class Attempts:
    """One operation over all its attempts.

    Args:
        cluster: where to try.
        limits: `attempt_s` bounds one attempt.
        doing: what is tried, to complete "etcd did not ...".
        within_s: bounds all attempts together.
        changes: the operation writes.
        repeatable: doing it twice does no harm.
    """

    def __init__(
        self,
        cluster: Cluster,
        limits: Limits,
        doing: str,
        *,
        within_s: float,
        changes: bool,
        repeatable: bool,
    ) -> None:
        self._cluster = cluster
        self._limits = limits
        self._doing = doing
        self._within_s = within_s
        self._deadline = asyncio.get_running_loop().time() + within_s
        self._changes = changes
        self._repeatable = repeatable
        self._perhaps_applied = False

    async def run(self, call: Call[T]) -> T:
        """Try until an answer comes, the time is up, or another attempt could do harm."""
        backoff_s = self._limits.backoff_s
        retrying = AsyncRetrying(
            retry=retry_if_exception(self._may_repeat),
            stop=stop_before_delay(self._within_s),
            wait=wait_exponential(multiplier=backoff_s, max=self._limits.backoff_max_s)
            + wait_random(0, backoff_s),
            reraise=True,
        )
        return await retrying(self._attempt, call)

    async def _attempt(self, call: Call[T]) -> T:
        member = await self._cluster.connected(self._time_s())
        if member is None:
            raise self._fault(await self._complaints())
        try:
            return await call(member, self._time_s())
        except CallEndedError as ended:
            cause, answered = str(ended), False
        except grpc.aio.AioRpcError as failed:
            cause, answered = f"{failed.code().name}: {failed.details()}", _is_answer(failed)
            if failed.code() not in _NO_ANSWER:
                raise EtcdRefusedError(self._doing, cause) from failed
        self._perhaps_applied |= self._changes and not answered
        self._cluster.suspect(member)
        raise self._fault(f"{member.target}: {cause}")

    async def _complaints(self) -> str:
        """Why none of the members is connected, each in its own words."""
        members = self._cluster.members
        reasons = await asyncio.gather(*(member.complaint(_LEAST_S) for member in members))
        return "; ".join(f"{m.target}: {r}" for m, r in zip(members, reasons, strict=True))

    def _time_s(self) -> float:
        left_s = self._deadline - asyncio.get_running_loop().time()
        return max(_LEAST_S, min(self._limits.attempt_s, left_s))

    def _may_repeat(self, fault: BaseException) -> bool:
        harmless = self._repeatable or not self._perhaps_applied
        return isinstance(fault, EtcdUnavailableError) and harmless and not self._cluster.closed

    def _fault(self, cause: str) -> EtcdUnavailableError:
        kind = OutcomeUnknownError if self._perhaps_applied else EtcdUnavailableError
        return kind(self._doing, cause)


def _is_answer(failed: grpc.aio.AioRpcError) -> bool:
    return failed.details() == _NO_LEADER
