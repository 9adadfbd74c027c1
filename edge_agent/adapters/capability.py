"""What this node offers: probed by a process apart, then bounded by the configuration."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec

from intertie.errors import Reason, error
from intertie.model.pool import NodeCapability

TIMEOUT_S = 60.0


def probe(folder: Path, timeout_s: float = TIMEOUT_S) -> NodeCapability:
    """Probe the node; `folder` chooses the disk. Blocks for a second or two.

    Raises:
        IntertieError: INTERNAL, with what the probes said.
    """
    command = [sys.executable, "-m", "edge_agent.adapters.probing", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout_s, check=True)
        return msgspec.json.decode(done.stdout, type=NodeCapability)
    except subprocess.TimeoutExpired:
        raise _failed(f"did not end within {timeout_s:g} s; a device may hang") from None
    except subprocess.CalledProcessError as failure:
        raise _failed(failure.stderr.decode(errors="replace")[-500:]) from None
    except msgspec.MsgspecError as fault:
        raise _failed(f"printed something else: {fault}") from None


def _failed(what: str) -> Exception:
    return error(
        Reason.INTERNAL,
        f"The probes of this node {what}.",
        remedy="Run python -m edge_agent.adapters.probes to see which one.",
    )


def bounded(
    found: NodeCapability, *, cpu: int, memory: int, disk: int, own_users: bool
) -> NodeCapability:
    """At most this of what was found; 0 = all of it. Two agents on one machine share it so.

    `own_users`: whether each run has a user of its own; else tasks are not kept apart.
    """
    bounds = {"cpu": cpu, "memory": memory, "disk": disk}
    given = {name: bound for name, bound in bounds.items() if bound}
    return replace(
        found,
        cpu=min(found.cpu, cpu) if cpu else found.cpu,
        memory=min(found.memory, memory) if memory else found.memory,
        disk=min(found.disk, disk) if disk else found.disk,
        isolation="user" if own_users else "none",
        found={**found.found, **dict.fromkeys(given, "bounded by the configuration")},
    )
