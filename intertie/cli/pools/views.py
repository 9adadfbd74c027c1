"""Regions, nodes and runs of a pool as columns."""

from intertie.cli.printing import Column, View
from intertie.cli.shown import age, cores, instant, number, short, size
from intertie.model.pool import NodeClass
from intertie.sdk.protojson import json_of
from intertie.sdk.resources import Node, PoolRun, Region


def _classes(region: Region) -> tuple[NodeClass, ...]:
    return region.summary.classes if region.summary is not None else ()


def _nodes(region: Region) -> str:
    return str(sum(found.nodes for found in _classes(region)))


def _free_cpu(region: Region) -> str:
    return cores(sum(found.free_cpu for found in _classes(region)))


def _free_memory(region: Region) -> str:
    return size(sum(found.free_memory for found in _classes(region)))


def _free_devices(region: Region) -> str:
    blocks = [found.free_blocks for found in _classes(region)]
    return str(sum(devices * nodes for block in blocks for devices, nodes in block.items()))


def _queue(region: Region) -> str:
    summary = region.summary
    return f"{summary.running} running, {summary.queued} queued" if summary is not None else ""


def _kinds(region: Region) -> str:
    kinds = [
        f"{found.nodes} x {found.model or found.architecture} (up to {found.max_devices} devices)"
        if found.max_devices
        else f"{found.nodes} x {found.architecture}"
        for found in _classes(region)
    ]
    return ", ".join(kinds)


REGIONS: View[Region] = View(
    "regions",
    (
        Column("REGION", lambda region: region.id),
        Column("STATE", lambda region: region.state),
        Column("REACHABLE", lambda region: region.reachability),
        Column("JURISDICTION", lambda region: region.jurisdiction),
        Column("NODES", _nodes),
        Column("FREE CPU", _free_cpu),
        Column("FREE MEMORY", _free_memory),
        Column("FREE DEVICES", _free_devices),
        Column("SEEN", lambda region: age(region.seen_ms)),
        Column("ASSIGNED", lambda region: str(region.assigned_runs), wide=True),
        Column("WHY", lambda region: region.state_reason, wide=True),
        Column("BY", lambda region: region.state_actor, wide=True),
        Column("RUNS", _queue, wide=True),
        Column("KINDS", _kinds, wide=True),
        Column("SOFTWARE", lambda region: region.software, wide=True),
    ),
    lambda region: region.id,
    json_of,
)


def _devices(node: Node) -> str:
    found = node.capability.devices if node.capability is not None else ()
    models = sorted({device.model for device in found})
    return f"{node.free_devices}/{len(found)} {', '.join(models)}" if found else "0"


def _of(free: str, total: str) -> str:
    return f"{free}/{total}"


def _cpu(node: Node) -> str:
    total = node.capability.cpu if node.capability is not None else 0
    return _of(cores(node.free_cpu), cores(total))


def _memory(node: Node) -> str:
    total = node.capability.memory if node.capability is not None else 0
    return _of(size(node.free_memory), size(total))


def _disk(node: Node) -> str:
    total = node.capability.disk if node.capability is not None else 0
    return _of(size(node.free_disk), size(total))


def _software(node: Node) -> str:
    found = node.capability.software if node.capability is not None else {}
    return ", ".join(f"{name} {version}" for name, version in sorted(found.items()))


def _architecture(node: Node) -> str:
    return node.capability.architecture if node.capability is not None else ""


def _runs(node: Node) -> str:
    return f"{node.runs}, {node.unfenced_runs} unfenced" if node.unfenced_runs else str(node.runs)


NODES: View[Node] = View(
    "nodes",
    (
        Column("NODE", lambda node: node.id),
        Column("REACHABLE", lambda node: node.reachability),
        Column("FREE CPU", _cpu),
        Column("FREE MEMORY", _memory),
        Column("FREE DISK", _disk),
        Column("FREE DEVICES", _devices),
        Column("RUNS", _runs),
        Column("SEEN", lambda node: age(node.seen_ms)),
        Column("ARCHITECTURE", _architecture, wide=True),
        Column("SOFTWARE", _software, wide=True),
        Column("INCARNATION", lambda node: node.incarnation, wide=True),
    ),
    lambda node: node.id,
    json_of,
)

RUNS: View[PoolRun] = View(
    "runs",
    (
        Column("TASK", lambda run: run.task),
        Column("TOKEN", lambda run: str(run.token)),
        Column("STATE", lambda run: run.state),
        Column("OUTCOME", lambda run: run.outcome.value if run.outcome else ""),
        Column("NATIVE", lambda run: "yes" if run.native else "no"),
        Column("NODE", lambda run: run.node),
        Column("EXIT", lambda run: number(run.exit_code)),
        Column("AGE", lambda run: age(run.queued_ms)),
        Column("WHY", lambda run: short(run.message)),
        Column("STARTED", lambda run: instant(run.started_ms), wide=True),
        Column("ENDED", lambda run: instant(run.ended_ms), wide=True),
    ),
    lambda run: run.task,
    json_of,
)
