"""Print what this node is and has, as JSON: `python -m edge_agent.adapters.probes [FOLDER]`.

A process apart is also how to probe with a time limit, as NVML can hang on a sick device.
"""

import sys
from pathlib import Path

import msgspec

from edge_agent.adapters.probes.node import probe_node


def main() -> None:
    """Probe the node; the folder (default: the current one) chooses the disk."""
    probes = probe_node(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    print(msgspec.json.format(msgspec.json.encode(probes), indent=2).decode())


if __name__ == "__main__":
    main()
