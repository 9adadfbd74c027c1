"""The environment of a task (contract.md): what the region said, and what only the node knows.

Nothing of the agent's own environment gets in. Names with a meaning of ours and the choice of
devices cannot be overridden; PATH, HOME and the like can.
"""

from collections.abc import Mapping, Sequence

from edge_agent.adapters.files.folders import RunFolders
from intertie.model.agentlink import StartRun
from intertie.model.pool import Device

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FIRST_PORT = 10_000
PORTS = 20_000
"""Below the ephemeral range of Linux (32768), so that no outgoing connection takes them."""


def task_environment(
    order: StartRun,
    folders: RunFolders,
    *,
    task_path: Sequence[str],
    devices: Mapping[int, Device],
    port: int,
) -> dict[str, str]:
    """All variables of a run's process.

    Args:
        order: the order, with the variables of the task and of the region.
        folders: where the run is.
        task_path: folders that come before the system's in PATH.
        devices: the node's accelerators by index.
        port: for the ranks of the task to meet at.
    """
    return {
        "PATH": ":".join((*task_path, SYSTEM_PATH)),
        "HOME": folders.work,
        "TMPDIR": folders.scratch,
        "LANG": "C.UTF-8",
        **order.env,
        "INTERTIE_WORK_DIR": folders.work,
        "INTERTIE_OUTPUT_DIR": folders.out,
        "INTERTIE_CHECKPOINT_DIR": folders.checkpoint,
        "INTERTIE_SCRATCH": folders.scratch,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "PET_NNODES": "1",
        "PET_NODE_RANK": "0",
        "PET_NPROC_PER_NODE": str(max(1, len(order.devices))),
        "PET_MASTER_ADDR": "127.0.0.1",
        "PET_MASTER_PORT": str(port),
        **visible_devices(order.devices, devices),
    }


def visible_devices(indexes: Sequence[int], devices: Mapping[int, Device]) -> dict[str, str]:
    """Which devices each vendor's runtime may see; without any, none."""
    chosen = [devices[index] for index in indexes if index in devices]
    nvidia = [each.uuid or str(each.index) for each in chosen if each.vendor == "nvidia"]
    ascend = [str(each.index) for each in chosen if each.vendor in ("ascend", "huawei")]
    return {
        "CUDA_VISIBLE_DEVICES": ",".join(nvidia),
        "NVIDIA_VISIBLE_DEVICES": ",".join(nvidia) or "void",
        "ASCEND_RT_VISIBLE_DEVICES": ",".join(ascend),
    }


def meeting_port(uid_base: int, slot: int) -> int:
    """A port that no other live run of this machine is given: agents differ by their users."""
    return FIRST_PORT + (uid_base + slot) % PORTS
