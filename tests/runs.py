"""Real runs of the suite, in processes of their own."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests import forks

ROOT = Path(__file__).parents[1]

SMALL = ("--gnn-dataset", "rmat:5", "--gnn-hidden", "8")
"""A graph so small that checking a kernel takes milliseconds."""
SHORT = ("--benchmark-max-time", "0.001", "--benchmark-min-rounds", "1")

OFFLINE = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
"""A proxy where nothing answers: what has no network sees."""

BARE = "-p no:hypothesispytest"
"""Without hypothesis's plugin, which nothing there needs: its imports take a second when a run ends."""

WIDE = "2000"
"""Characters per line of what is printed, so that no line is broken."""
CACHE = Path(tempfile.gettempdir(), f"gnnbench-tests-{os.getuid()}")
"""Not the user's: rates that are measured while tests run are not this machine's."""


def environment(**changes: str | None) -> dict[str, str]:
    """This process's environment without gnnbench's and pytest's variables, offline, with changes."""
    mine = ("GNNBENCH_", "PYTEST_", "OMP_")
    usual = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
    ours = {"GNNBENCH_CACHE": str(CACHE), "PYTEST_ADDOPTS": BARE, "COLUMNS": WIDE}
    variables = {**usual, **OFFLINE, **ours, **changes}
    return {name: value for name, value in variables.items() if value is not None}


def as_a_user(monkeypatch: pytest.MonkeyPatch, **changes: str | None) -> None:
    """Give this process, and so the commands and pytests that it starts, the variables of a user's shell."""
    variables = environment(**changes)
    for name in os.environ.keys() - variables.keys():
        monkeypatch.delenv(name)  # pytest's for a worker of xdist would switch timing off
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def run(*arguments: str, cwd: Path = ROOT, **changes: str | None) -> subprocess.CompletedProcess[str]:
    """Run pytest as a user would, on the CPU, and return what it printed and its exit status."""
    return forks.run(pytest_on_cpu(*arguments), cwd, environment(**changes))


def run_kernels(*arguments: str, cwd: Path = ROOT, **changes: str | None) -> subprocess.CompletedProcess[str]:
    """Run pytest where torch, PyG and DGL are imported already."""
    return forks.run(pytest_on_cpu(*arguments), cwd, environment(**forks.ASLEEP, **changes), libraries=True)


def pytest_on_cpu(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--gnn-device", "cpu", *arguments]


def gnnbench(*words: str, cwd: Path = ROOT, **changes: str | None) -> subprocess.CompletedProcess[str]:
    script = str(Path(sys.executable).with_name("gnnbench"))
    return forks.run([script, *words], cwd, environment(**changes))
