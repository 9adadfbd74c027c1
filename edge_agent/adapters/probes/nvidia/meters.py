"""Samples of the meters of NVIDIA devices: what changes while they run."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import pynvml

from edge_agent.adapters.probes.model import (
    DeviceFault,
    Found,
    NvidiaSample,
    Probe,
)
from edge_agent.adapters.probes.nvidia.session import DeviceLostError, ask, demand

T = TypeVar("T")
V = TypeVar("V")


def sample_nvidia(uuids: Sequence[str]) -> tuple[NvidiaSample | DeviceFault, ...]:
    """One sample per device in the order asked; a device that went away is a fault in its place."""
    return tuple(_sample(uuid) for uuid in uuids)


def _sample(uuid: str) -> NvidiaSample | DeviceFault:
    try:
        handle = demand(pynvml.nvmlDeviceGetHandleByUUID, uuid)
        rates = ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
        memory = ask(pynvml.nvmlDeviceGetMemoryInfo, handle)
        celsius = ask(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU)
        power = ask(pynvml.nvmlDeviceGetPowerUsage, handle)
    except DeviceLostError as error:
        return error.fault(uuid)
    return NvidiaSample(
        uuid=uuid,
        gpu_percent=_take(rates, lambda value: int(value.gpu)),
        memory_percent=_take(rates, lambda value: int(value.memory)),
        memory_used_bytes=_take(memory, lambda value: int(value.used)),
        temperature_c=_take(celsius, int),
        power_mw=_take(power, int),
    )


def _take(answer: Probe[T], part: Callable[[T], V]) -> V | None:
    return part(answer.value) if isinstance(answer, Found) else None
