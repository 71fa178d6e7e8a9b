"""What a child process does first: it ends when the process that started it does."""

import ctypes
import os
import signal
import sys
from typing import NoReturn

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>


def end_group() -> NoReturn:
    """End this process and all that it started, as nobody is there to ask for more."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def die_with(coordinator: int) -> None:
    """End when the coordinator does, also while a benchmark hangs.

    Elsewhere than on Linux the next command does not come, which is noticed when it is waited for.
    """
    if sys.platform != "linux":
        return
    end = signal.SIGRTMAX - 1  # which no suite is likely to use

    def ended(_number: int, _frame: object) -> None:
        if os.getppid() != coordinator:  # the signal comes when the thread ends that started the process
            end_group()

    signal.signal(end, ended)
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(end))
    ended(end, None)  # it may have ended before that
