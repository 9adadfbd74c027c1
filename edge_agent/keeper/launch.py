"""How a keeper is started; for link and for tests. Starts nothing itself.

By path and with `-I -S`: no site-packages, no user site, no environment variable can put another
module in the keeper's way, and the interpreter starts faster and smaller.
"""

import os
import sys

from edge_agent.keeper import protocol


def command(state_dir: str, *, cgroup: str = "auto", t_kill_ms: int = 10_000) -> list[str]:
    """The command line. Start it with `start_new_session=True` and without waiting for it: it
    lives longer than who started it.
    """
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py")
    flags = ["-I", "-S"]
    options = ["--cgroup", cgroup, "--t-kill-ms", str(t_kill_ms)]
    return [sys.executable, *flags, program, state_dir, *options]


def socket_path(state_dir: str) -> str:
    """Where it listens, once it is ready to serve."""
    return os.path.join(state_dir, protocol.SOCKET_NAME)
