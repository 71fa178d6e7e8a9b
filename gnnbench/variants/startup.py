"""Makes a child process end when the process that started it ends."""

import ctypes
import os
import signal
import sys
from typing import NoReturn

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>


def end_group() -> NoReturn:
    """Kill this process and all processes that it started."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def die_with(coordinator: int) -> None:
    """End this process when the coordinator ends, even while a benchmark hangs.

    Works on Linux. Elsewhere, a child ends when it next waits for a command.
    """
    if sys.platform != "linux":
        return
    end = signal.SIGRTMAX - 1  # a suite hardly ever uses it

    def ended(_number: int, _frame: object) -> None:
        if os.getppid() != coordinator:  # the signal also comes when only the starting thread ends
            end_group()

    signal.signal(end, ended)
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(end))
    ended(end, None)  # the coordinator may have ended already
