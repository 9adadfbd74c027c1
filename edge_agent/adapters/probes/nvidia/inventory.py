"""The inventory of NVIDIA devices, one by one, so that a lost one does not hide the others."""

from pathlib import Path

import pynvml

from edge_agent.adapters.probes.model import (
    Absence,
    DeviceFault,
    Ecc,
    Found,
    Mig,
    MigInstance,
    NotFound,
    NvidiaDevice,
    NvidiaInventory,
    Probe,
    RowRemapping,
)
from edge_agent.adapters.probes.nvidia import links
from edge_agent.adapters.probes.nvidia.session import (
    LIBRARY,
    DeviceLostError,
    Handle,
    NvmlSession,
    ask,
    demand,
)
from edge_agent.adapters.probes.reading import ROOT, attempt, text

MIB = 1 << 20

# By compute capability, CUDA C++ Programming Guide, appendix "Compute Capabilities".
ARCHITECTURES = {
    (3, 0): "kepler",
    (5, 0): "maxwell",
    (6, 0): "pascal",
    (7, 0): "volta",
    (7, 5): "turing",
    (8, 0): "ampere",
    (8, 9): "ada",
    (9, 0): "hopper",
    (10, 0): "blackwell",
}
NEWEST_KNOWN_MAJOR = 12


def architecture(capability: tuple[int, int]) -> str:
    """The generation of a compute capability; `sm_XY` where it is newer than this table."""
    known = [start for start in ARCHITECTURES if start <= capability]
    if not known or capability[0] > NEWEST_KNOWN_MAJOR:
        return f"sm_{capability[0]}{capability[1]}"
    return ARCHITECTURES[max(known)]


def probe_nvidia(session: NvmlSession, root: Path = ROOT) -> Probe[NvidiaInventory]:
    """All devices that NVML counts, and a fault for each that cannot be read."""
    try:
        count = demand(pynvml.nvmlDeviceGetCount)
    except DeviceLostError as error:
        return NotFound(Absence.FAILED, error.reason, error.source)
    devices: list[NvidiaDevice] = []
    faults: list[DeviceFault] = []
    for index in range(count):
        read = _device(index, root)
        if isinstance(read, DeviceFault):
            faults.append(read)
        else:
            devices.append(read)
    inventory = NvidiaInventory(session.driver, session.cuda, tuple(devices), tuple(faults))
    return Found(inventory, f"{LIBRARY}, driver {session.driver}: {count} devices")


def _device(index: int, root: Path) -> NvidiaDevice | DeviceFault:
    name = f"index {index}"
    try:
        handle = demand(pynvml.nvmlDeviceGetHandleByIndex, index)
        name = demand(pynvml.nvmlDeviceGetUUID, handle)
        return _read(handle, index, name, root)
    except DeviceLostError as error:
        return error.fault(name)


def _read(handle: Handle, index: int, uuid: str, root: Path) -> NvidiaDevice:
    capability = demand(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    bus_id = demand(pynvml.nvmlDeviceGetPciInfo, handle).busId
    return NvidiaDevice(
        index=index,
        uuid=uuid,
        name=demand(pynvml.nvmlDeviceGetName, handle),
        memory_bytes=demand(pynvml.nvmlDeviceGetMemoryInfo, handle).total,
        compute_capability=capability,
        architecture=architecture(capability),
        bus_id=bus_id,
        numa_node=_numa_node(bus_id, root),
        nvlinks=links.groups(handle),
        mig=_mig(handle),
        ecc=_ecc(handle),
        row_remapping=_row_remapping(handle),
        power_limit_mw=ask(pynvml.nvmlDeviceGetPowerManagementLimit, handle),
    )


def _numa_node(bus_id: str, root: Path) -> Probe[int]:
    """The kernel's word for the PCI place; NVML's own NUMA call is about memory of the GPU itself.

    NVML writes the PCI domain with eight digits, sysfs with four.
    """
    path = f"sys/bus/pci/devices/{bus_id.lower()[4:]}/numa_node"
    node = attempt(f"/{path}", lambda: int(text(root / path)))
    if isinstance(node, Found) and node.value < 0:
        return NotFound(Absence.UNSUPPORTED, "the firmware does not tell", f"/{path}")
    return node


def _mig(handle: Handle) -> Probe[Mig]:
    mode = ask(pynvml.nvmlDeviceGetMigMode, handle)
    if isinstance(mode, NotFound):
        return mode
    enabled, pending = (value == pynvml.NVML_DEVICE_MIG_ENABLE for value in mode.value)
    instances = _mig_instances(handle) if enabled else ()
    return Found(Mig(enabled, pending, instances), mode.source)


def _mig_instances(handle: Handle) -> tuple[MigInstance, ...]:
    instances = []
    for slot in range(demand(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle)):
        instance = ask(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, slot)
        if isinstance(instance, NotFound):  # slots are sparse
            continue
        attributes = demand(pynvml.nvmlDeviceGetAttributes_v2, instance.value)
        instances.append(
            MigInstance(
                uuid=demand(pynvml.nvmlDeviceGetUUID, instance.value),
                memory_bytes=attributes.memorySizeMB * MIB,
                multiprocessors=attributes.multiprocessorCount,
                gpu_instance=demand(pynvml.nvmlDeviceGetGpuInstanceId, instance.value),
                compute_instance=demand(pynvml.nvmlDeviceGetComputeInstanceId, instance.value),
            )
        )
    return tuple(instances)


def _ecc(handle: Handle) -> Probe[Ecc]:
    mode = ask(pynvml.nvmlDeviceGetEccMode, handle)
    if isinstance(mode, NotFound):
        return mode
    if mode.value[0] != pynvml.NVML_FEATURE_ENABLED:
        return Found(Ecc(False, 0, 0, 0), mode.source)
    counters = []
    for kind, since in (
        (pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, pynvml.NVML_VOLATILE_ECC),
        (pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC),
        (pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_AGGREGATE_ECC),
    ):
        count = ask(pynvml.nvmlDeviceGetTotalEccErrors, handle, kind, since)
        if isinstance(count, NotFound):
            return count
        counters.append(count.value)
    return Found(Ecc(True, *counters), "nvmlDeviceGetTotalEccErrors")


def _row_remapping(handle: Handle) -> Probe[RowRemapping]:
    rows = ask(pynvml.nvmlDeviceGetRemappedRows, handle)
    if isinstance(rows, NotFound):
        return rows
    corrected, uncorrected, pending, failed = rows.value
    return Found(RowRemapping(corrected, uncorrected, bool(pending), bool(failed)), rows.source)
