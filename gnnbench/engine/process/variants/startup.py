"""What a child process runs: a link to its coordinator, then pytest with the trees; see `child.Child`."""

import atexit
import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from ...ground.files import project
from .import_roots import HIDDEN, Trees
from .pipe import Link

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>


def begin() -> tuple[dict[str, Any], Link, Trees]:
    """Return the terms from `Child`, the link to the coordinator, and the trees, which are installed."""
    terms = json.loads(sys.argv.pop(1))
    die_with(terms["coordinator"])
    link = Link(terms["link"], terms["token"])
    if sys.path and not sys.path[0]:
        # As `python -m pytest` does in the project's folder.
        sys.path[:1] = dict.fromkeys([os.getcwd(), str(project(Path()))])  # noqa: PTH109
    trees = Trees.read(terms["trees"])
    trees.install()
    trees.install_in_pytest()
    os.environ.update(trees.inherited())
    sys.modules.update(dict.fromkeys(os.environ.get(HIDDEN, "").split()))  # type: ignore[arg-type]
    return terms, link, trees


def run(trees: Trees, *plugins: object) -> NoReturn:
    """Run pytest with the arguments that `Child` was given, and end the process with its exit status."""
    import pytest

    from .child_plugins import CallersTree

    sys.argv[0] = str(Path(pytest.__file__).with_name("__main__.py"))
    status = int(pytest.main(sys.argv[1:], plugins=[CallersTree(trees), *plugins]))
    # pytest has torn the suite down. Skip the interpreter's own tear-down, which takes a second with torch.
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def end_group() -> NoReturn:
    """Kill this process and all processes that it started."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def die_with(parent: int) -> None:
    """End this process when the one that started it ends, even while a benchmark hangs."""
    end = signal.SIGRTMAX - 1  # a suite hardly ever uses it

    def ended(_number: int, _frame: object) -> None:
        if os.getppid() != parent:  # the signal also comes when only the starting thread ends
            end_group()

    signal.signal(end, ended)
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(end))
    ended(end, None)  # the parent may have ended already
