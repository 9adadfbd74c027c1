"""Prints what this node can do, as JSON: `python -m edge_agent.adapters.probing FOLDER`.

A process apart: probes may hang on a sick device, and their libraries would stay in the link's
memory for ever.
"""

import sys
from pathlib import Path

import msgspec

from edge_agent.adapters.probes import node_capability, probe_node


def main() -> None:
    """Probe; the folder chooses the disk."""
    capability = node_capability(probe_node(Path(sys.argv[1])))
    sys.stdout.buffer.write(msgspec.json.encode(capability))


if __name__ == "__main__":
    main()
