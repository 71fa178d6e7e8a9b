import gc
import importlib
import os
import signal
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from hypothesis import settings

from gnnbench.engine.process.unchanged import known
from gnnbench.engine.process.variants import child, command
from gnnbench.engine.show import lines
from tests.forks import ADDRESS, INSTEAD, address, look_up_once
from tests.runs import BARE, WIDE

HAS_TORCH = find_spec("torch") is not None
"""If not, only tests of the engine run: `make test` runs some of them so."""
pytest_plugins = ["pytester", "tests.browser", *(["tests.graphs"] if HAS_TORCH else [])]

HAS_GPU = HAS_TORCH and importlib.import_module("torch").cuda.is_available()
"""Asked before any test hides the GPUs, as torch asks the driver once."""

# What a script starts in the background ignores Ctrl-C, and so would all that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


settings.register_profile("few", deadline=None, max_examples=25)
settings.register_profile("many", deadline=None, max_examples=200)


def pytest_configure(config: pytest.Config) -> None:
    """Try few examples of each property, and many with the nightly tests."""
    settings.load_profile("many" if "nightly" in config.option.markexpr else "few")
    if config.getoption("numprocesses", None):  # all workers share the process that is forked
        os.environ[ADDRESS] = address()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the nightly tests unless -m names them, and skip what needs a GPU where there is none."""
    if "nightly" not in config.option.markexpr:
        nightly = [item for item in items if item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]
    if not HAS_GPU:
        for item in items:
            if item.get_closest_marker("cuda"):
                item.add_marker(pytest.mark.skip(reason="needs a GPU"))


def pytest_collection_finish() -> None:
    """Let the garbage collector, which every measurement calls, leave out what was imported until now."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _gpus_are_for_tests_that_need_one(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let all others, and the processes they start, work on the CPU, on every machine."""
    if HAS_GPU and not request.node.get_closest_marker("cuda"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture(scope="session", autouse=True)
def _started_processes_load_little() -> Iterator[None]:
    """Leave hypothesis's plugin out of every pytest that a test starts, and let it write as for a person.

    None of them is a worker of xdist, also where this process is one: pytest-benchmark would time nothing.
    And leave the installed packages out of what is known from files: to look at each takes two seconds.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known, "environment_folders", tuple)
        for module in (child, command):
            patch.setattr(module, "subprocess", INSTEAD)
        patch.setenv("PYTEST_ADDOPTS", BARE)
        patch.setattr(lines, "IN_A_PIPE", int(WIDE))
        look_up_once()
        # pytest does not shorten lines where the first two are set.
        for name in ("CI", "BUILD_NUMBER", "PYTEST_XDIST_WORKER", "COLUMNS"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def fresh_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start children of gnnbench in new interpreters."""
    for module in (child, command):
        monkeypatch.setattr(module, "subprocess", subprocess)
