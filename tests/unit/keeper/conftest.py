"""A pretended cgroup file system: directories on disk that behave as the kernel's do."""

import os
import signal
from pathlib import Path

import pytest

from edge_agent.keeper.machine.cgroup import CgroupFs

FILES_V2 = {
    "": {"cgroup.procs": "", "cgroup.subtree_control": "", "cgroup.controllers": ""},
    "cpu": {"cpu.max": "max 100000"},
    "memory": {
        "memory.max": "max",
        "memory.current": "4096",
        "memory.peak": "8192",
        "memory.events": "oom 0\noom_kill 0\n",
        "memory.oom.group": "0",
        "memory.swap.max": "max",
    },
    "pids": {"pids.max": "max", "pids.current": "1"},
}


class FakeCgroupV2(CgroupFs):
    """Version 2. Knows: files appear with the group and by the parent's subtree_control; an inner
    group with processes may not hand controllers down; cgroup.kill kills; a busy group stays."""

    def __init__(self, root: Path, controllers: str, *, has_kill: bool = True) -> None:
        self.root = str(root)
        self.has_kill = has_kill
        self.written: list[tuple[str, str]] = []
        self.denied: set[str] = set()
        self._populate(self.root, controllers.split())
        (root / "cgroup.controllers").write_text(controllers)

    def _populate(self, path: str, controllers: list[str]) -> None:
        for name in ("", *controllers):
            for file, text in FILES_V2.get(name, {}).items():
                Path(path, file).write_text(text)
        Path(path, "cgroup.controllers").write_text(" ".join(controllers))
        Path(path, "cpu.stat").write_text("usage_usec 1500\nuser_usec 1000\n")
        Path(path, "cgroup.freeze").write_text("0")
        if self.has_kill:
            Path(path, "cgroup.kill").write_text("")

    def mkdir(self, path: str) -> None:
        if path in self.denied:
            raise PermissionError(13, "denied", path)
        if not Path(path).exists():
            super().mkdir(path)
            self._populate(path, self.read(f"{Path(path).parent}/cgroup.subtree_control").split())

    def rmdir(self, path: str) -> bool:
        if self.pids(f"{path}/cgroup.procs") or self.groups(path):
            return False
        for file in Path(path).iterdir():
            file.unlink()
        return super().rmdir(path)

    def write(self, path: str, text: str) -> None:
        name, group = Path(path).name, Path(path).parent
        if not Path(path).exists():
            raise FileNotFoundError(2, "no such file", path)
        self.written.append((str(Path(path).relative_to(self.root)), text))
        if name == "cgroup.subtree_control":
            self._hand_down(group, text.removeprefix("+"))
        elif name == "cgroup.procs":
            self._move(group, int(text))
        elif name == "cgroup.kill":
            self._kill(group)
        else:
            Path(path).write_text(text)

    def _hand_down(self, group: Path, name: str) -> None:
        inside = group != Path(self.root) and self.pids(f"{group}/cgroup.procs")
        if inside:
            raise OSError(16, "busy", str(group))
        if name not in self.read(f"{group}/cgroup.controllers").split():
            raise FileNotFoundError(2, "no such controller", name)
        path = group / "cgroup.subtree_control"
        path.write_text(f"{path.read_text()} {name}")

    def _move(self, group: Path, pid: int) -> None:
        for path in Path(self.root).rglob("cgroup.procs"):
            kept = [each for each in self.pids(str(path)) if each != pid]
            path.write_text("\n".join(map(str, kept)))
        self.put(str(group), pid)

    def _kill(self, group: Path) -> None:
        for path in group.rglob("cgroup.procs"):
            for pid in self.pids(str(path)):
                os.kill(pid, signal.SIGKILL)
            path.write_text("")

    def put(self, group: str, *pids: int) -> None:
        """Pretend that processes are in a group."""
        path = f"{group}/cgroup.procs"
        Path(path).write_text("\n".join(map(str, [*self.pids(path), *pids])))


@pytest.fixture
def fake_v2() -> type[FakeCgroupV2]:
    return FakeCgroupV2
