"""What operators see of nodes and runs: values of the domain as messages of regional.v1."""

from google.protobuf.timestamp_pb2 import Timestamp

from intertie.api.regional.v1 import pool_service_pb2 as pb
from intertie.wire.pool import capability_to_pb, checkpoint_to_pb, token_to_pb
from intertie.wire.tasks import stored_file_to_pb
from regional.domain.nodes.pool import Node
from regional.domain.runs.run import RegionRun


def node_to_pb(node: Node) -> pb.Node:
    """A node."""
    return pb.Node(
        name=f"nodes/{node.id}",
        reachability=f"REACHABILITY_{node.reachability.value}",
        seen_time=_instant(node.heard_ms),
        capability=capability_to_pb(node.hello.capability),
        free_cpu_millis=max(0, node.free_cpu),
        free_memory_bytes=max(0, node.free_memory),
        free_disk_bytes=max(0, node.free_disk),
        free_devices=len(node.free_devices()),
        runs=len(node.held.runs),
        incarnation=node.hello.incarnation,
        unfenced_runs=len(node.held.unfenced),
    )


def run_to_pb(run: RegionRun) -> pb.PoolRun:
    """A run."""
    message = pb.PoolRun(
        task=run.task,
        token=token_to_pb(run.token),
        state=f"RUN_STATE_{run.state.value}",
        outcome=f"OUTCOME_{run.outcome.value}" if run.outcome is not None else None,
        native=run.native,
        node=run.node,
        queue_time=_instant(run.queued_ms),
        start_time=_instant(run.first_started_ms or run.started_ms),
        end_time=_instant(run.ended_ms),
        message=run.message,
        outputs=[stored_file_to_pb(file) for file in run.outputs],
    )
    if run.exit_code is not None:
        message.exit_code = run.exit_code
    if run.checkpoint is not None:
        message.checkpoint.CopyFrom(checkpoint_to_pb(run.checkpoint))
    return message


def _instant(utc_ms: int) -> Timestamp | None:
    """An instant; absent if it has not come."""
    if not utc_ms:
        return None
    instant = Timestamp()
    instant.FromMilliseconds(utc_ms)
    return instant
