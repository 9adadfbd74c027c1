"""What a run sees of the machine's shared places: a mount namespace of its own.

/tmp and /var/tmp are a folder of the run, /dev/shm is an empty memory file system, and device files
that are not the run's are /dev/null. Needs root; what cannot be done is a fault of the start, never
passed over. Runs in the child between fork and exec: must not touch the keeper's own namespace.
"""

import os
from typing import Final

from edge_agent.keeper import protocol
from edge_agent.keeper.machine import linux
from edge_agent.keeper.spec import StartSpec

_SHM: Final = "/dev/shm"  # noqa: S108 - the place


def are_possible() -> bool:
    """Whether this process may make such namespaces, found out by a child that tries."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            linux.unshare_mounts()
            linux.mount_memory(_SHM, 1 << 20)
            linux.mount_bind(os.devnull, os.devnull)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def enter(spec: StartSpec) -> None:
    """Give this process what its spec says. Raises OSError."""
    if spec.tmp_dir is None and spec.shm_bytes is None and not spec.hidden:
        return
    linux.unshare_mounts()
    if spec.shm_bytes is not None:
        linux.mount_memory(_SHM, spec.shm_bytes)
    for path in spec.hidden:
        if os.path.exists(path):
            linux.mount_bind(os.devnull, path)
    if spec.tmp_dir is not None:
        folder = os.open(spec.tmp_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        for place in protocol.SHARED_TMP:  # by descriptor: the first may hide the folder's path
            if os.path.isdir(place) and not os.path.islink(place):
                linux.mount_bind(f"/proc/self/fd/{folder}", place)
        os.close(folder)
