"""The Linux calls that Python 3.11 lacks: prctl, mounts, timerfd on the boot clock.

Thin and without decisions. CLOCK_BOOTTIME counts suspend; `select`'s own timeout and
`time.monotonic` do not, so a deadline must never rest on them.
"""

import ctypes
import os
import time
from typing import Final

_LIBC: Final = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38
_TFD_TIMER_ABSTIME: Final = 1
_CLONE_NEWNS: Final = 0x00020000
_MS_NOSUID: Final = 2
_MS_NODEV: Final = 4
_MS_BIND: Final = 4096
_MS_REC: Final = 16384
_MS_SLAVE: Final = 1 << 19


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("it_interval", _Timespec), ("it_value", _Timespec))


def _check(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _check(_LIBC.prctl(option, ctypes.c_ulong(value), zero, zero, zero), f"prctl({option})")


def become_subreaper() -> None:
    """Orphans of our tasks become our children instead of init's."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(signal_number: int) -> None:
    """Have this process killed when its parent dies. Cleared by a change of user: call it after."""
    _prctl(_PR_SET_PDEATHSIG, signal_number)


def set_no_new_privs() -> None:
    """From here on no program can gain privileges, by set-user-id or otherwise."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def set_undumpable() -> None:
    """No core file of this process, and nobody of the same user may trace it."""
    _prctl(_PR_SET_DUMPABLE, 0)


def unshare_mounts() -> None:
    """From here on this process mounts for itself and its children only. Needs root."""
    _check(_LIBC.unshare(_CLONE_NEWNS), "unshare")
    _mount(None, "/", None, _MS_REC | _MS_SLAVE)  # what the machine unmounts is still let go of


def mount_memory(target: str, most_bytes: int) -> None:
    """An empty file system in memory, for everybody who sees it."""
    _mount("tmpfs", target, "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={most_bytes},mode=1777")


def mount_bind(source: str, target: str) -> None:
    """Show a file or folder at another place."""
    _mount(source, target, None, _MS_BIND)


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, data: str | None = None
) -> None:
    texts = (None if text is None else os.fsencode(text) for text in (source, target, kind, data))
    from_, to, type_, options = texts
    _check(_LIBC.mount(from_, to, type_, ctypes.c_ulong(flags), options), f"mount {target}")


def boot_ns() -> int:
    """CLOCK_BOOTTIME in nanoseconds."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """Names the boot that `boot_ns` counts from."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


class BootTimer:
    """A descriptor that is readable from an instant of the boot clock on, also after suspend."""

    def __init__(self) -> None:
        flags = os.O_NONBLOCK | os.O_CLOEXEC
        self.fd = _check(_LIBC.timerfd_create(time.CLOCK_BOOTTIME, flags), "timerfd_create")
        self._armed: int | None = None

    def arm(self, at_ns: int | None) -> None:
        """Fire at an instant (at once when it is past); None disarms."""
        if at_ns == self._armed:
            return
        seconds, nanoseconds = divmod(0 if at_ns is None else max(at_ns, 1), 1_000_000_000)
        value = _Itimerspec(_Timespec(0, 0), _Timespec(seconds, nanoseconds))
        result = _LIBC.timerfd_settime(self.fd, _TFD_TIMER_ABSTIME, ctypes.byref(value), None)
        _check(result, "timerfd_settime")
        self._armed = at_ns

    def clear(self) -> None:
        """Take note that it fired."""
        try:
            os.read(self.fd, 8)
        except BlockingIOError:
            return
        self._armed = None

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.fd)
