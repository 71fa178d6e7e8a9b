"""Counts the instructions of a call by the processor's counter, through Linux's `perf_event_open`."""

import ctypes
import errno
import fcntl
import os
import platform
import struct
import sys
from types import FrameType
from typing import Any

from ...environment import read
from .counter import ByFrame, Call, Events, Taken

_SYSCALLS = {"x86_64": 298, "aarch64": 241}
_ATTRIBUTE_BYTES, _FLAGS_AT = 112, 40
_DISABLED, _NO_KERNEL, _NO_HYPERVISOR = 1 << 0, 1 << 5, 1 << 6
_CLOSE_ON_EXEC = 1 << 3
_ENABLE, _DISABLE, _RESET = 0x2400, 0x2401, 0x2403
INSTRUCTIONS = 0, 1
"""Kind and number of an event: PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS."""


class Hardware:
    """See `InstructionCounter`. It does not know functions of C.

    Args:
        event: kind and number of the event to count.

    Raises:
        OSError: the system does not count it.
    """

    name = "hardware counter"
    emulates = False

    def __init__(self, event: tuple[int, int] = INSTRUCTIONS) -> None:
        self._file = _open(event)
        self._cost = 0

    def begin(self) -> None:
        """Measure what counting itself executes."""
        self._cost = min(self._counted(_nothing) for _ in range(9))

    def count(self, call: Call) -> Taken:
        """Call once and count."""
        return Taken(max(0, self._counted(call) - self._cost))

    def _counted(self, call: Call) -> int:
        file, ioctl = self._file, fcntl.ioctl
        ioctl(file, _RESET, 0)
        ioctl(file, _ENABLE, 0)
        call()
        ioctl(file, _DISABLE, 0)
        return self._now()

    def _now(self) -> int:
        return int.from_bytes(os.read(self._file, 8), sys.byteorder)

    def by_frame(self, call: Call, events: Events) -> ByFrame:
        """Read the counter at each call and return of a Python function."""
        names: list[str | None] = []
        numbers: list[int] = []
        now, last, depth = self._now, 0, 0

        def profile(frame: FrameType, event: str, _argument: Any) -> None:
            nonlocal last, depth
            depth += event == "call"
            if event in ("call", "return") and depth <= events.deepest:
                numbers.append(now() - last)
                name = f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}"
                names.append(name if event == "call" else None)
                last = now()
            depth -= event == "return"

        before = sys.getprofile()
        fcntl.ioctl(self._file, _RESET, 0)
        fcntl.ioctl(self._file, _ENABLE, 0)
        last = now()
        sys.setprofile(profile)
        try:
            call()
        finally:
            sys.setprofile(before)
            fcntl.ioctl(self._file, _DISABLE, 0)
        return ByFrame(names, numbers)

    def close(self) -> None:
        """Give the counter back."""
        os.close(self._file)


def why_not() -> str:
    """Return why this machine counts no instructions in hardware, by trying it; empty: it does."""
    try:
        Hardware().close()
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            level = read("proc/sys/kernel/perf_event_paranoid") or "?"
            return (
                f"the system refuses its instruction counter (kernel.perf_event_paranoid is {level}, not 2)"
            )
        return "this machine, a virtual one perhaps, has no instruction counter"
    return ""


def _nothing() -> None:
    """Do nothing."""


def _open(event: tuple[int, int]) -> int:
    kind, number = event
    syscall = _SYSCALLS.get(platform.machine()) if sys.platform == "linux" else None
    if syscall is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    attribute = bytearray(_ATTRIBUTE_BYTES)
    struct.pack_into("=IIQ", attribute, 0, kind, _ATTRIBUTE_BYTES, number)
    struct.pack_into("=Q", attribute, _FLAGS_AT, _DISABLED | _NO_KERNEL | _NO_HYPERVISOR)
    libc = ctypes.CDLL(None, use_errno=True)
    given = (ctypes.c_char * _ATTRIBUTE_BYTES).from_buffer(attribute)
    this_thread, any_cpu, no_group = 0, -1, -1
    file = libc.syscall(syscall, given, this_thread, any_cpu, no_group, _CLOSE_ON_EXEC)
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(file)
