"""The first thing that runs in a worker's process; then it is an ordinary pytest.

Loaded by file under another name than the package's, as the suite may import another version of that. So
whatever a worker needs of this package, it imports relatively.
"""

import atexit
import ctypes
import json
import os
import signal
import sys
from typing import NoReturn

from .link import Link
from .trees import Trees

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>


def main() -> NoReturn:
    """Run pytest on the arguments after the first, which says how the worker is connected."""
    terms = json.loads(sys.argv[1])
    arguments = sys.argv[2:]
    die_with(terms["coordinator"])
    link = Link(terms["read"], terms["write"], terms["token"])
    if sys.path and not sys.path[0]:
        sys.path[0] = os.getcwd()  # noqa: PTH109 - as `python -m pytest` has it
    trees = Trees(terms["trees"])
    trees.install()

    import pytest

    from .callers_tree import CallersTree
    from .worker import Worker

    sys.argv[:] = [os.path.join(os.path.dirname(pytest.__file__), "__main__.py"), *arguments]  # noqa: PTH118, PTH120
    status = pytest.main(
        arguments, plugins=[CallersTree(trees), Worker(link, trees, terms["pair"], terms["side"])]
    )
    # The suite has torn down; what the interpreter would take apart besides takes a second with torch.
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


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
