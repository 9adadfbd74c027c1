"""A session with NVML, and the one place where its errors become findings.

`nvidia-ml-py` (module `pynvml`) loads `libnvidia-ml.so.1` of the driver. The calls may hang on a
GPU that is falling off the bus, so whoever must answer in time runs them in a process apart
(`python -m edge_agent.adapters.probes`). Decides nothing about a device's use.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pynvml

from edge_agent.adapters.probes.model import (
    Absence,
    DeviceCondition,
    DeviceFault,
    Found,
    NotFound,
    Probe,
)

T = TypeVar("T")

# A device, an event set: pointers of ctypes, which nvidia-ml-py does not type.
Handle = Any

LIBRARY = "libnvidia-ml.so.1"

# Errors that are about the whole device, whatever was asked.
DEVICE_CONDITIONS = {
    pynvml.NVML_ERROR_GPU_IS_LOST: DeviceCondition.LOST,
    pynvml.NVML_ERROR_GPU_NOT_FOUND: DeviceCondition.LOST,
    pynvml.NVML_ERROR_RESET_REQUIRED: DeviceCondition.RESET_REQUIRED,
}

# Errors that are about one question only.
ABSENCES = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: Absence.UNSUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: Absence.UNSUPPORTED,  # a driver older than the call
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: Absence.UNSUPPORTED,
    pynvml.NVML_ERROR_NO_PERMISSION: Absence.DENIED,
}

OPENING = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: (Absence.ABSENT, f"{LIBRARY} is not installed"),
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: (Absence.ABSENT, "the NVIDIA kernel driver is not loaded"),
    pynvml.NVML_ERROR_NO_PERMISSION: (Absence.DENIED, "this user may not talk to the driver"),
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
        Absence.FAILED,
        "library and kernel driver differ in version: reload the driver or reboot",
    ),
}


class DeviceLostError(Exception):
    """The device is gone or must be reset: nothing more can be asked of it."""

    def __init__(self, condition: DeviceCondition, reason: str, source: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.condition = condition
        self.reason = reason
        self.source = source

    def fault(self, device: str) -> DeviceFault:
        """The same as a finding about a named device."""
        return DeviceFault(device, self.condition, self.reason, self.source)


def ask(function: Callable[..., T], *arguments: Handle) -> Probe[T]:
    """One NVML call. Raises DeviceLostError when the whole device is out."""
    source = function.__name__
    try:
        return Found(function(*arguments), source)
    except pynvml.NVMLError as error:
        condition = DEVICE_CONDITIONS.get(error.value)
        if condition is not None:
            raise DeviceLostError(condition, str(error), source) from error
        return NotFound(ABSENCES.get(error.value, Absence.FAILED), str(error), source)


def demand(function: Callable[..., T], *arguments: Handle) -> T:
    """One NVML call without whose answer the device is of no use."""
    answer = ask(function, *arguments)
    if isinstance(answer, NotFound):
        denied = answer.absence is Absence.DENIED
        condition = DeviceCondition.DENIED if denied else DeviceCondition.UNREADABLE
        raise DeviceLostError(condition, answer.reason, answer.source)
    return answer.value


@dataclass(frozen=True, slots=True)
class NvmlSession:
    """An initialised NVML; close it once. NVML counts, so several sessions may be open."""

    driver: str
    cuda: tuple[int, int] | None

    def close(self) -> None:
        """Give the library back; a driver that went away meanwhile is no reason to fail."""
        ask(pynvml.nvmlShutdown)


def open_nvml() -> NvmlSession | NotFound:
    """Load and initialise NVML, or say why there is none. No library and no driver are normal."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        absence, reason = OPENING.get(error.value, (Absence.FAILED, str(error)))
        return NotFound(absence, reason, f"{LIBRARY}: nvmlInit")
    driver = ask(pynvml.nvmlSystemGetDriverVersion)
    cuda = ask(pynvml.nvmlSystemGetCudaDriverVersion_v2)
    return NvmlSession(
        driver=driver.value if isinstance(driver, Found) else "unknown",
        cuda=_cuda_version(cuda.value) if isinstance(cuda, Found) else None,
    )


def _cuda_version(number: int) -> tuple[int, int]:
    """12040 is 12.4 (cuda.h, CUDA_VERSION)."""
    return number // 1000, number % 1000 // 10
