"""The streams of agents that stand now: who may attach, what waits to be sent, who reads logs.

One stream per node. A second process with the identity of a node is refused while the first one
lives; the same process attaching again replaces its earlier stream at once. Must not know runs.
"""

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from intertie.api.agent.v1 import link_pb2
from intertie.errors import IntertieError, Reason, error
from intertie.model.agentlink import AgentBytes, AgentHello, AgentRead, FromRegionToAgent
from intertie.ports import Clock
from intertie.telemetry.logs import logger
from intertie.transport.outbox import Outbox
from intertie.wire.agent import scheduler_message_to_pb

MS = 1_000_000
ANSWER_MARGIN_S = 5.0
"""How much longer than asked a node may take for a chunk of a log."""

_log = logger(__name__)


@dataclass(slots=True)
class NodeLink:
    """One stream."""

    number: int
    hello: AgentHello
    heard_ns: int
    outbox: Outbox[link_pb2.SchedulerMessage] = field(default_factory=Outbox)


class NodeLinks:
    """The present link of each node.

    Args:
        clock: tells how long a link was silent.
        silence_ms: after this long without a word another process may take a node over.
        most: nodes attached at once.
        alarm: told when two agents have one node id.
    """

    def __init__(
        self, clock: Clock, *, silence_ms: int, most: int, alarm: Callable[[str], None]
    ) -> None:
        self._clock = clock
        self._silence_ns = silence_ms * MS
        self._most = most
        self._alarm = alarm
        self._by_node: dict[str, NodeLink] = {}
        self._numbers = itertools.count(1)
        self._reads: dict[int, asyncio.Future[AgentBytes]] = {}
        self._read_ids = itertools.count(1)

    def __len__(self) -> int:
        return len(self._by_node)

    def open(self, hello: AgentHello) -> NodeLink:
        """Take a new link.

        Raises:
            IntertieError: SESSION_TAKEN, another living process is this node; QUOTA_EXCEEDED.
        """
        now_ns = self._clock.now().boot_ns
        before = self._by_node.get(hello.node)
        if before is None and len(self._by_node) >= self._most:
            raise error(
                Reason.QUOTA_EXCEEDED,
                f"{self._most} nodes are attached, as many as are allowed.",
                remedy="Raise max_nodes.",
            )
        if before is not None:
            if before.hello.incarnation != hello.incarnation and self._lives(before, now_ns):
                _log.error(
                    "ALARM: two agents have one node id",
                    node=hello.node,
                    attached=before.hello.incarnation,
                    refused=hello.incarnation,
                )
                self._alarm("node_session_taken")
                raise _taken(before)
            before.outbox.close(_taken(before))
        link = NodeLink(next(self._numbers), hello, now_ns)
        self._by_node[hello.node] = link
        return link

    def heard(self, link: NodeLink) -> None:
        """The node said something."""
        link.heard_ns = self._clock.now().boot_ns

    def forget(self, link: NodeLink) -> None:
        """A stream has ended."""
        link.outbox.close()
        if self._by_node.get(link.hello.node) is link:
            del self._by_node[link.hello.node]

    def send(self, node: str, number: int, message: FromRegionToAgent) -> None:
        """Queue a message on this very link; lost if it is over."""
        link = self._by_node.get(node)
        if link is not None and link.number == number:
            link.outbox.put(scheduler_message_to_pb(message))

    def close_all(self, reason: IntertieError) -> None:
        """End every stream."""
        for link in list(self._by_node.values()):
            link.outbox.close(reason)

    def _lives(self, link: NodeLink, now_ns: int) -> bool:
        return not link.outbox.is_closed and now_ns - link.heard_ns < self._silence_ns

    # --- reading live logs -----------------------------------------------------------------------

    async def read(self, node: str, request: AgentRead) -> AgentBytes:
        """Ask a node for a chunk of a live log; the request's `id` is ours to choose.

        Raises:
            IntertieError: NODE_OUT_OF_TOUCH.
        """
        link = self._by_node.get(node)
        if link is None:
            raise _out_of_touch(node)
        id_ = next(self._read_ids)
        future: asyncio.Future[AgentBytes] = asyncio.get_running_loop().create_future()
        self._reads[id_] = future
        link.outbox.put(
            scheduler_message_to_pb(
                AgentRead(
                    id=id_,
                    task=request.task,
                    run=request.run,
                    stream=request.stream,
                    offset=request.offset,
                    limit=request.limit,
                    wait_ms=request.wait_ms,
                )
            )
        )
        try:
            async with asyncio.timeout(request.wait_ms / 1000 + ANSWER_MARGIN_S):
                return await future
        except TimeoutError:
            raise _out_of_touch(node) from None
        finally:
            del self._reads[id_]

    def answered(self, chunk: AgentBytes) -> None:
        """A node's answer; one that nobody waits for any more is dropped."""
        future = self._reads.get(chunk.id)
        if future is not None and not future.done():
            future.set_result(chunk)


def _taken(before: NodeLink) -> IntertieError:
    return error(
        Reason.SESSION_TAKEN,
        f"Another process is attached as node {before.hello.node} "
        f"(incarnation {before.hello.incarnation[:60]}).",
        remedy="Stop one of them, or give it an identity of its own.",
        metadata={"node": before.hello.node},
    )


def _out_of_touch(node: str) -> IntertieError:
    return error(
        Reason.NODE_OUT_OF_TOUCH,
        f"Node {node} does not answer.",
        remedy="Try again; the log is kept by the region when the run has ended.",
        retry_after_ms=2_000,
    )
