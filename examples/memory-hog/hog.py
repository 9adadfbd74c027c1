"""Ask for more and more memory, and use it, until the task's limit ends it.

Blocks are filled with random bytes, so that no page can be shared, compressed or left untouched. If
nothing stops it, it stops itself at the ceiling: a missing limit must not take the machine down.
"""

import argparse
import os
import sys
import time

MIB = 1 << 20


def main() -> int:
    """Grow step by step; 0 is never returned."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=6, metavar="MIB")
    parser.add_argument("--pause", type=float, default=0.15, metavar="SECONDS")
    parser.add_argument("--ceiling", type=int, default=1024, metavar="MIB")
    options = parser.parse_args()
    blocks: list[bytes] = []
    while len(blocks) * options.step < options.ceiling:
        blocks.append(os.urandom(options.step * MIB))
        print(f"holding {len(blocks) * options.step} MiB", flush=True)
        time.sleep(options.pause)
    print("no memory limit stopped this task", file=sys.stderr)
    return 3


if __name__ == "__main__":
    sys.exit(main())
