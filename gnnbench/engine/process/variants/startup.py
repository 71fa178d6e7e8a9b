"""What a child process itself does to start, to fork and to end.

A child is a pytest process. The coordinator, which commands it, is the process that compares both sides.
"""

import atexit
import ctypes
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import psutil

from ...ground.files import project
from .import_roots import HIDDEN, SIDE, SITE, Trees
from .pipe import Link

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
_TASKS, _MAPS, _FILES = Path("/proc/self/task"), Path("/proc/self/maps"), Path("/proc/self/fd")
_GPU = "/dev/nvidia-uvm"
"""A device file that is open once CUDA is initialised, but not after a mere query for GPUs."""
_BLAS = ("libopenblas", "libscipy_openblas")
"""Beginnings of names of libraries whose threads (one for each core but the first) start again in a fork."""
THREAD = "importing the tests left a thread running (for example, a torch computation at module level)"
"""A reason not to fork, which the author of the tests can remove."""
_HARMLESS = ("pytest_rerunfailures",)
"""Modules whose threads only wait for connections, and hold no lock meanwhile."""


def begin() -> tuple[dict[str, Any], Link, Trees]:
    """Return the settings from `Child`, the link to the coordinator, and the installed import finder."""
    settings = json.loads(sys.argv.pop(1))
    die_with(settings["coordinator"])
    link = Link(settings["link"])
    if sys.path and not sys.path[0]:
        # As with `python -m pytest`, started here or in the project's folder.
        sys.path[:1] = dict.fromkeys([os.getcwd(), str(project(Path()))])  # noqa: PTH109
    trees = use(settings["trees"])
    paths = [SITE, *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    sys.modules.update(dict.fromkeys(os.environ.get(HIDDEN, "").split()))  # type: ignore[arg-type]
    return settings, link, trees


def use(file: str) -> Trees:
    """Install the import finder of a file, in this process and in Python processes that it starts."""
    trees = Trees.read(file)
    trees.install()
    trees.install_in_pytest()
    os.environ[SIDE] = file
    return trees


def run(trees: Trees, *plugins: object) -> NoReturn:
    """Run pytest with the arguments of `Child`, and end this process with pytest's exit status."""
    import pytest

    from .child_plugins import CallersTree

    sys.argv[0] = str(Path(pytest.__file__).with_name("__main__.py"))
    status = int(pytest.main(sys.argv[1:], plugins=[CallersTree(trees), *plugins]))
    # The interpreter's own tear-down would take another second with torch.
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def end_group() -> NoReturn:
    """Kill this process and, if it leads its process group, all processes of the group."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def die_with(parent: int) -> None:
    """End this process when its parent process ends, even while a benchmark hangs."""
    end = signal.SIGRTMAX - 1  # tests hardly ever use it

    def end_orphan(_number: int, _frame: object) -> None:
        if os.getppid() != parent:  # the signal also comes if only the parent's thread that forked ends
            end_group()

    signal.signal(end, end_orphan)
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(end))
    end_orphan(end, None)  # the parent may have ended already


def why_no_forks() -> str:
    """Return why this process cannot be forked, or an empty text if it can.

    A fork has only one thread: it would lack other threads, such as those that OpenMP starts in its first
    parallel region. A fork of a process that has used a GPU cannot use the GPU.
    """
    if _GPU in map(os.path.realpath, _FILES.iterdir()):
        return "a GPU is used while the tests are imported"
    other_threads = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    targets = [getattr(thread, "_target", None) for thread in other_threads]
    harmless = sum(getattr(target, "__module__", "") in _HARMLESS for target in targets)
    if harmless < len(targets):
        return THREAD
    threads = len(list(_TASKS.iterdir())) - harmless
    libraries = {line.split()[-1] for line in _MAPS.read_text().splitlines()}
    blas = sum(Path(library).name.startswith(_BLAS) for library in libraries)
    cores = len(os.sched_getaffinity(0))
    return THREAD if threads > 1 + blas * (cores - 1) else ""


def fork(descriptor: int) -> tuple[int, Link | None]:
    """Fork this process; the fork leads a process group of its own.

    `descriptor`: the fork's socket of its link to the coordinator. Returns the process id of the fork, and
    None; in the fork, returns 0 and the link.
    """
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        die_with(parent)
        return pid, Link(descriptor)
    os.close(descriptor)
    return pid, None


def reap(pid: int, seconds: float) -> int | None:
    """Return the exit status of a fork. Returns None if the fork does not end within `seconds`."""
    with suppress(psutil.TimeoutExpired):
        return psutil.Process(pid).wait(seconds)
    return None
