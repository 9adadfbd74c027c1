"""Probes of the host: processors, memory, disk, NUMA, the machine itself."""

import os
import re
from pathlib import Path

from edge_agent.adapters.probes.limits import cpu_quota_millicores, memory_limit_bytes
from edge_agent.adapters.probes.model import (
    Absence,
    Cpu,
    Deployment,
    Disk,
    Found,
    Host,
    Memory,
    NotFound,
    NumaNode,
    Probe,
)
from edge_agent.adapters.probes.reading import ROOT, attempt, id_list, kib_fields, text

MIB = 1 << 20

# What hypervisors write into the DMI system vendor or product name.
HYPERVISORS = re.compile(
    r"QEMU|KVM|VMware|VirtualBox|innotek|Xen|Microsoft Corporation Virtual|Amazon EC2|"
    r"Google Compute Engine|OpenStack|Alibaba Cloud|Tencent Cloud|HUAWEICLOUD|Bochs|Parallels"
)
# An EC2 .metal instance carries the vendor of its virtual siblings but is the machine itself.
METAL = re.compile(r"\.metal\b")


def probe_host(root: Path = ROOT) -> Probe[Host]:
    """Name, architecture, kernel, boot."""
    uname = os.uname()
    source = "uname(2), /proc/sys/kernel/random/boot_id"
    return attempt(
        source,
        lambda: Host(
            hostname=uname.nodename,
            architecture=uname.machine,
            kernel=uname.release,
            boot_id=text(root / "proc/sys/kernel/random/boot_id"),
        ),
    )


def probe_deployment(root: Path = ROOT) -> Probe[Deployment]:
    """Container before virtual machine before bare metal; unknown rather than a guess."""
    for marker in (".dockerenv", "run/.containerenv"):
        if (root / marker).exists():
            return Found(Deployment.CONTAINER, f"/{marker}")
    try:
        flags = re.search(r"^flags\s*:.*\bhypervisor\b", text(root / "proc/cpuinfo"), re.MULTILINE)
    except OSError as error:
        return NotFound(Absence.FAILED, str(error), "/proc/cpuinfo")
    if flags:
        return Found(Deployment.VM, "/proc/cpuinfo: flag hypervisor")
    folder = root / "sys/class/dmi/id"
    try:
        identity = f"{text(folder / 'sys_vendor')} {text(folder / 'product_name')}"
    except OSError:
        reason = "neither a container marker, nor the CPU flag hypervisor, nor DMI"
        return NotFound(Absence.UNSUPPORTED, reason, "/sys/class/dmi/id")
    virtual = HYPERVISORS.search(identity) and not METAL.search(identity)
    return Found(Deployment.VM if virtual else Deployment.BARE_METAL, "/sys/class/dmi/id")


def probe_cpu(root: Path = ROOT) -> Probe[Cpu]:
    """Processors allowed by affinity, the cgroup quota, the model and the sockets."""
    allowed = tuple(sorted(os.sched_getaffinity(0)))
    source = "sched_getaffinity(2), cgroup CPU quota, /proc/cpuinfo, sysfs topology"
    return attempt(
        source,
        lambda: Cpu(
            allowed=allowed,
            quota_millicores=cpu_quota_millicores(root),
            model=_cpu_model(text(root / "proc/cpuinfo")),
            sockets=_sockets(root),
        ),
    )


def _cpu_model(cpuinfo: str) -> str:
    """The model's name; ARM kernels give only numbers, which are told as they are."""
    if name := re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE):
        return name[1].strip()
    codes = [
        f"{field} {found[1]}"
        for field in ("implementer", "part")
        if (found := re.search(rf"^CPU {field}\s*:\s*(\S+)$", cpuinfo, re.MULTILINE))
    ]
    return " ".join(codes) or "unknown"


def _sockets(root: Path) -> int:
    """Different packages among the online processors; 1 where the kernel does not tell (-1)."""
    pattern = "cpu[0-9]*/topology/physical_package_id"
    return len({text(path) for path in (root / "sys/devices/system/cpu").glob(pattern)}) or 1


def probe_memory(root: Path = ROOT) -> Probe[Memory]:
    """Memory of the host and the tightest limit on this process."""
    return attempt("/proc/meminfo, cgroup memory limit", lambda: _memory(root))


def _memory(root: Path) -> Memory:
    fields = kib_fields(text(root / "proc/meminfo"))
    total, available = fields["MemTotal"] // 1024, fields["MemAvailable"] // 1024
    limit_bytes = memory_limit_bytes(root)
    limit = None if limit_bytes is None or limit_bytes // MIB >= total else limit_bytes // MIB
    return Memory(
        total_mib=total,
        available_mib=available if limit is None else min(available, limit),
        limit_mib=limit,
        swap_mib=fields.get("SwapTotal", 0) // 1024,
    )


def probe_disk(path: Path) -> Probe[Disk]:
    """The file system that a path is on."""

    def read() -> Disk:
        stat = os.statvfs(path)
        return Disk(
            path=str(path),
            total_mib=stat.f_blocks * stat.f_frsize // MIB,
            free_mib=stat.f_bavail * stat.f_frsize // MIB,
        )

    return attempt("statvfs(3)", read)


def probe_numa(root: Path = ROOT) -> Probe[tuple[NumaNode, ...]]:
    """NUMA nodes with processors, memory and distances."""
    folder = root / "sys/devices/system/node"

    def read() -> tuple[NumaNode, ...]:
        return tuple(_numa_node(folder, node) for node in id_list(text(folder / "online")))

    return attempt("/sys/devices/system/node", read)


def _numa_node(folder: Path, node: int) -> NumaNode:
    own = folder / f"node{node}"
    return NumaNode(
        node=node,
        cpus=id_list(text(own / "cpulist")),
        memory_mib=kib_fields(text(own / "meminfo"))["MemTotal"] // 1024,
        distances=tuple(int(distance) for distance in text(own / "distance").split()),
    )
