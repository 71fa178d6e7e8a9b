"""Starts a pytest process that talks to this one over two pipes: `start` here, `begin` and `run` there."""

import atexit
import ctypes
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from ..files import project
from .import_roots import Trees
from .pipe import Link

_PACKAGE = Path(__file__).parents[1]
_ALIAS = "gnnbench_coordinator"
_BOOT = """
import importlib.util, sys
init = sys.argv.pop(1)
spec = importlib.util.spec_from_file_location("ALIAS", init)
module = sys.modules["ALIAS"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from ALIAS.variants.startup import begin
given = begin()
from ALIAS.MODULE import main  # now that the trees are installed, which may have what it imports
main(*given)
""".replace("ALIAS", _ALIAS)
"""Loads this package from its file under another name: the suite imports the side's gnnbench, and the same
code measures both sides. So all modules that a child process needs import each other relatively."""
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>


def start(
    module: str,
    terms: Mapping[str, Any],
    arguments: Sequence[str],
    output: IO[bytes],
    *,
    trees: Sequence[Path],
    environment: Mapping[str, str],
    folder: Path | None = None,
    under: Sequence[str] = (),
) -> tuple[subprocess.Popen[bytes], Link]:
    """Start a process, leader of its own session and process group.

    The calling thread must live as long as the process.

    Args:
        module: module of this package whose `main` runs, with what `begin` returns.
        terms: the first of that; JSON.
        arguments: pytest's arguments; no shell interprets them.
        output: receives what it prints.
        trees: import roots that precede all others; the first that has a package wins.
        environment: variables to set in addition to this process's own.
        folder: the working directory; None: this process's.
        under: the command that runs Python, with its arguments; empty: none.
    """
    theirs_read, write = os.pipe()
    read, theirs_write = os.pipe()
    token = secrets.token_hex(8) + " "
    link = Link(read, write, token)
    connection = {
        "read": theirs_read,
        "write": theirs_write,
        "token": token,
        "coordinator": os.getpid(),
        "trees": [str(tree) for tree in trees],
    }
    boot = [*under, sys.executable, "-c", _BOOT.replace("MODULE", module), str(_PACKAGE / "__init__.py")]
    try:
        process = subprocess.Popen(  # noqa: S603
            [*boot, json.dumps({**connection, **terms}), *arguments],
            cwd=folder,
            env=_environment(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(theirs_read, theirs_write),
            start_new_session=True,
        )
    except BaseException:
        link.close()
        raise
    finally:
        os.close(theirs_read)
        os.close(theirs_write)
    return process, link


def begin() -> tuple[dict[str, Any], Link, Trees]:
    """Return what `start` was given: the terms, the link to that process, and the trees, installed."""
    terms = json.loads(sys.argv.pop(1))
    _die_with(terms["coordinator"])
    link = Link(terms["read"], terms["write"], terms["token"])
    if sys.path and not sys.path[0]:
        # As `python -m pytest` does where the project is.
        sys.path[:1] = dict.fromkeys([os.getcwd(), str(project(Path()))])  # noqa: PTH109
    trees = Trees(terms["trees"])
    trees.install()
    return terms, link, trees


def run(trees: Trees, *plugins: object) -> NoReturn:
    """Run pytest with the arguments that `start` was given, and end the process with its exit status."""
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


def _die_with(coordinator: int) -> None:
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


def _environment(changes: Mapping[str, str]) -> dict[str, str]:
    """Return this process's variables and the changes, without those of a pytest that it runs in."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTEST_XDIST_") and name != "PYTEST_CURRENT_TEST"
    }
    # Idle OpenMP threads that spin would disturb the other side.
    return {"OMP_WAIT_POLICY": "PASSIVE", **kept, **changes}
