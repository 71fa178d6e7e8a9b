"""Commands in forks of a process that has imported what they need, as a fork is quicker than imports are.

A fork is a process of its own, with its own exit status, folder and environment. A test of what a fresh
interpreter does (its imports, OpenMP's threads, signals) starts one instead.
"""

import atexit
import gc
import json
import os
import runpy
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests import forked_children

_LIMIT_SECONDS = 300
_COMMANDS = (
    *("gnnbench.engine.cli.main", "gnnbench.engine.plugin.gate", "gnnbench.engine.plugin.terminal"),
    *("msgspec", "rich.table", "scipy.stats"),
)
_KNOWN = "gnnbench.engine.process.unchanged.known"
_VARIANTS = "gnnbench.engine.process.variants"
_LIBRARIES = (
    "torch_geometric.nn",
    "gnnbench.suite.verify",
    "gnnbench.suite.training",
    *forked_children.WITH_TORCH,
)
ASLEEP = {"OMP_WAIT_POLICY": "PASSIVE"}
"""What the suite's conftest sets before it imports torch, which is too late in a fork."""


@cache
def _server(*modules: str) -> subprocess.Popen[str]:
    """Start the process that is forked; it ends when this one does."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.forks", *modules],
        cwd=Path(__file__).parents[1],
        env=forked_children.start_variables(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(
    command: list[str], folder: Path, environment: dict[str, str], *, libraries: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a Python script, or `python -m MODULE`.

    Args:
        command: its words.
        folder: where it runs.
        environment: its variables.
        libraries: whether torch and the platforms' libraries are imported, too.
    """
    server = _server(*_COMMANDS, *(_LIBRARIES if libraries else ()))
    with TemporaryDirectory() as place:
        files = [f"{place}/output", f"{place}/errors"]
        variables = {forked_children.ADDRESS: forked_children.address(), **environment}
        print(json.dumps([command, str(folder), variables, *files]), file=server.stdin, flush=True)
        status = int(server.stdout.readline())
        return subprocess.CompletedProcess(command, status, *(Path(file).read_text() for file in files))


def _become(command: list[str], folder: str, environment: dict[str, str], *files: str) -> None:
    """Make this process, a fork, the one that was asked for."""
    signal.alarm(_LIMIT_SECONDS)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for descriptor, file in enumerate((os.devnull, *files)):
        opened = os.open(file, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, descriptor)
        os.close(opened)
    try:
        if command[1:2] == ["-m"]:
            sys.path[0], sys.argv = folder, command[2:]
            runpy.run_module(command[2], run_name="__main__", alter_sys=True)
        else:
            sys.path[0], sys.argv = str(Path(command[0]).parent), command
            runpy.run_path(command[0], run_name="__main__")
    except SystemExit as end:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))  # to free all that was imported would take longer than most commands


def _serve(modules: list[str]) -> None:
    """Import modules, then answer each request with the exit status of a fork."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        pytest.main(["--version", "--version", "--noconftest"])  # imports plugins as pytest does
        for name in modules:
            import_module(name)
        forked_children.look_up()
        import_module(_KNOWN).environment_folders = tuple  # as in this process, see conftest.py
        for name in ("child", "command"):
            import_module(f"{_VARIANTS}.{name}").subprocess = forked_children.INSTEAD
        if set(_LIBRARIES) <= set(modules):
            from gnnbench.engine.ground.packages import missing
            from gnnbench.suite.platforms import PLATFORMS, load

            for platform in PLATFORMS.values():
                if not missing(platform.packages):
                    load(platform.name)
    gc.collect()
    gc.freeze()  # what is imported is never searched again for what can be freed
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _become(*json.loads(line))
            return
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve(sys.argv[1:])
