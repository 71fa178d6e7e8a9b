import json
import os
import re
import subprocess
import sys

import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.interfaces import Listener
from gnnbench.engine.process.variants import fresh
from tests.runs import BARE, SHORT, as_a_user, environment

SUITE = """
import os

def test_good(benchmark):
    benchmark(sum, [1, 2])

def test_seed(benchmark):
    assert os.environ["GNNBENCH_FAKE_CLOCK"].startswith("8:")
    benchmark(sum, [1, 2])

def test_bad(benchmark):
    assert not "really; $(echo bad)"
"""
OPTIONS = """
import pytest

def pytest_addoption(parser):
    parser.addoption("--cov", dest="cov_source", action="append", default=[])
    parser.addoption("--codspeed", action="store_true")

def pytest_load_initial_conftests(early_config):
    if early_config.known_args_namespace.cov_source:
        raise RuntimeError("the coverage plugin is on")

def pytest_configure(config):
    if config.getoption("--codspeed"):
        config.option.benchmark_disable = True
"""
"""As pytest-cov and pytest-codspeed begin."""
MARKED = "import pytest\n@pytest.mark.benchmark\ndef test_good():\n    sum([1])\n"
FOREIGN = """
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

class Fixture:
    __class__ = BenchmarkFixture  # which pytest-benchmark asks for

    def __call__(self, *_): ...

@pytest.fixture
def benchmark():
    return Fixture()
"""
"""As pytest-codspeed's fixture takes the name."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", f"{BARE} -p no:cacheprovider -p pytest_benchmark.plugin")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # as nobody's shell has it
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


@pytest.fixture
def run(folder, monkeypatch):
    """Return a function that times tests of the suite in a fork, and returns the lines on it."""
    as_a_user(monkeypatch, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")

    def run(selected, *words, **files):
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        given = ["-p", "pytest_benchmark.plugin", "-k", selected, *words, *SHORT]
        lines = fresh.run(given, folder / "out.json", folder, 3, Listener())
        assert json.loads((folder / "out.json").read_text())["benchmarks"]
        return lines

    return run


def test_each_leaves_its_lines_and_a_run_file_and_has_a_seed_of_its_own(folder, monkeypatch):
    (folder / "truth.json").write_text('{"benchmarks": {"test_seed": 1e-3}}')
    monkeypatch.setenv("GNNBENCH_FAKE_CLOCK", f"5:{folder / 'truth.json'}")
    output, listener, lines = folder / "3.json", Listener(), []
    listener.detail = lines.append
    words = ["-p", "gnnbench", "--gnn-layouts=sample", *SHORT]
    fresh.run(words, output, folder, 3, listener, only=["test_suite.py::test_seed"])
    (benchmark,) = json.loads(output.read_text())["benchmarks"]
    measurement = benchmark["extra_info"]["gnnbench"]["measurement"]
    assert measurement["location_ns"] == pytest.approx(1e6, rel=0.3)
    assert sum("1 passed" in line for line in lines) == 1


def test_options_that_switch_timing_off_are_overridden_and_named(folder, run):
    (folder / "pytest.ini").write_text(
        "[pytest]\naddopts = -p standing_in -p xdist --cov=. --codspeed --pdb -x -n 2 --benchmark-disable\n"
    )
    (line,) = run("good", standing_in=OPTIONS)
    assert line == "overridden options: -n, --pdb, --benchmark-disable, --codspeed, --cov, --maxfail"
    assert run("good", "-o", "addopts=") == []


@pytest.mark.parametrize(
    ("words", "files", "said"),
    [
        ("nothing", {}, "timed nothing: deselected by -k nothing: 3 benchmarks$"),
        ("good", {"test_suite": MARKED}, "timed nothing: marked as benchmarks, but not timed, .*: 1 test"),
        (
            "good",
            {"conftest": FOREIGN},
            "timed nothing: test_suite.py::test_good: its fixture `benchmark` comes from ",
        ),
        ("good or bad", {}, "failed: pytest ended with exit status 1$"),
        ("good", {"test_other": "import no_such_package\n"}, "failed: pytest ended with exit status 1$"),
    ],
)
def test_one_that_fails_or_times_nothing_says_so(run, words, files, said):
    with pytest.raises(UsageError) as caught:
        run(words, "--continue-on-collection-errors", **files)
    assert re.match(f"process 3 {said}", str(caught.value).splitlines()[0])


def test_the_command_that_is_suggested_runs_as_typed(tmp_path, monkeypatch):
    for name, text in {
        "pyproject.toml": "",
        "acme.py": "def total():\n    return 1\n",
        "bench/test_it.py": "import acme\n\ndef test_it(benchmark):\n    benchmark(acme.total)\n",
    }.items():
        (tmp_path / "top" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "top" / name).write_text(text)
    (tmp_path / "top/.git").mkdir()
    folder = tmp_path / "top/bench"
    command = fresh.shell_command(["test_it.py", *SHORT], folder)
    assert command.startswith("PYTHONPATH=.. python -m pytest test_it.py ")
    for name, value in environment(PYTHONPATH=None).items():
        monkeypatch.setenv(name, value)
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])  # noqa: PTH120
    variables = {**os.environ, "PATH": path}
    done = subprocess.run(["sh", "-c", command], check=False, cwd=folder, env=variables, capture_output=True)
    assert done.returncode == 0, done.stdout
