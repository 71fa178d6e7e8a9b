"""In real repositories; the benchmarks that are written really run."""

import os
import pty

import pytest
import yaml

from gnnbench.adopt import plan
from gnnbench.adopt.repository import Project
from gnnbench.cli import init
from gnnbench.variants import command
from tests import suite
from tests.cli.forked import pytest_is_forked
from tests.forks import ASLEEP
from tests.variants.repositories import commit_all

MODEL = """
import torch


class Scale(torch.nn.Module):
    def __init__(self, hidden_dim=4):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(hidden_dim))

    def forward(self, edge_index):
        return self.weight.sum() * edge_index


class Other(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(64, width)

    def forward(self, x, power):
        return self.linear(x) ** power
"""
SUITE = "def test_sum(benchmark):\n    benchmark(sum, [1])\n"
INDIRECT = """
import pytest

class TestSum:
    @pytest.fixture(autouse=True)
    def timed(self, benchmark):
        self.time = benchmark

    def test_it(self):
        self.time(sum, [1])
"""


@pytest.fixture
def model(tmp_path):
    """A repository with two models and no benchmark."""
    (tmp_path / "src/nets").mkdir(parents=True)
    (tmp_path / "src/nets/__init__.py").touch()
    (tmp_path / "src/nets/scale.py").write_text(MODEL)
    commit_all(tmp_path, "models")
    return tmp_path


@pytest.fixture(autouse=True)
def _forked(in_process, monkeypatch):  # noqa: ARG001 - which clears variables before
    """Let the pytests of a command be forks that time briefly."""
    short = {"PYTEST_ADDOPTS": f"{suite.BARE} --benchmark-max-time=0.01"}
    pytest_is_forked(monkeypatch, libraries=True, **short, **ASLEEP)


@pytest.fixture
def run(in_process):
    """Return a function that runs `gnnbench init --yes`."""
    return lambda *words: in_process("init", "--yes", *words)


def state(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and not {".git", "__pycache__", ".pytest_cache"} & set(path.parts)
    }


@pytest.mark.nightly
def test_a_repository_with_a_model_gets_a_benchmark_that_runs(model, run, monkeypatch):
    monkeypatch.setattr(plan, "action_source", lambda: None)
    before = state(model)
    found = run()
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert "models: nets.scale:Scale is measured; --model names another: nets.scale:Other" in lines
    assert "\ntimed: benchmarks/test_scale.py::test_scale_training_step, " in found.stdout
    after = state(model)
    assert {name: text for name, text in after.items() if name in before} == before
    assert sorted(set(after) - set(before)) == [
        ".github/workflows/benchmarks.yml",
        ".gitignore",
        "benchmarks/conftest.py",
        "benchmarks/test_scale.py",
        "gnnbench.toml",
    ]
    assert "return Scale().to(DEVICE)" in after["benchmarks/test_scale.py"]
    job = yaml.safe_load(after[".github/workflows/benchmarks.yml"])["jobs"]["gnnbench"]
    assert job["with"]["arguments"] == "benchmarks"
    assert "\npytest without arguments runs benchmarks too: " in found.stdout
    assert "\nstill to do: in .github/workflows/benchmarks.yml, replace OWNER/gnnbench" in found.stdout


def test_what_a_model_requires_is_left_to_its_owner(model, run):
    found = run("--model", "nets.scale:Other")
    assert found.returncode == 0, found.stderr
    said = "still to do: benchmarks/test_other.py:20: give width, power where ... stands; then run: pytest "
    assert f"{said}benchmarks/test_other.py" in found.stdout.splitlines()
    file = model / "benchmarks/test_other.py"
    text = file.read_text()
    assert text.splitlines()[19] == "    return Other(width=...).to(DEVICE)"
    assert "    power = ...\n" in text
    file.write_text(text.replace("width=...", "width=8").replace("power = ...", "power = torch.tensor(2)"))
    again = run()
    assert again.returncode == 0, again.stderr
    assert "timed: benchmarks/test_other.py::test_other_forward, " in again.stdout
    assert "test_other.py:20" not in again.stdout


def test_benchmarks_inside_their_package_are_compared_with_a_record(tmp_path, capsys):
    """`gnnbench ab` would import both sides' package from the working tree."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/__init__.py").touch()
    repository = Project(tmp_path, ["kernels/test_sum.py::test_sum"])
    init._say_next(plan.make(repository, None, "me/gnnbench@v2", settings=True))
    *_, record, compare = capsys.readouterr().out.replace("\n  ", " ").splitlines()
    assert record.startswith("commit, and before your next change: gnnbench baseline record -- ")
    assert record.endswith("kernels/test_sum.py")
    assert compare.startswith("after it: pytest ")
    assert compare.endswith("kernels/test_sum.py --benchmark-compare")


def test_a_repository_with_benchmarks_keeps_them(tmp_path, run):
    (tmp_path / "test_sum.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --benchmark-disable\n")
    (tmp_path / "gnnbench.toml").write_text('effect = "5%"\n')
    found = run("--action", "me/gnnbench@v2")
    assert found.returncode == 0, found.stderr
    assert "1 benchmark function in test_sum.py" in found.stdout
    assert "timed: test_sum.py::test_sum, " in found.stdout
    after = state(tmp_path)
    assert after["gnnbench.toml"] == 'effect = "5%"\n'
    assert "uses: me/gnnbench/.github/workflows/compare.yml@v2" in after[".github/workflows/benchmarks.yml"]
    assert not [name for name in after if name.startswith("benchmarks/")]
    again = run()
    assert again.returncode == 0, again.stderr
    assert "nothing to write" in again.stdout
    assert "still to do" not in again.stdout
    assert state(tmp_path) == after


def test_where_nobody_can_answer_it_shows_what_it_found_and_writes_nothing(in_process, tmp_path):
    """A package that holds its benchmarks is named."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/__init__.py").touch()
    (tmp_path / "kernels/test_sum.py").write_text(SUITE)
    before = state(tmp_path)
    found = in_process("init")
    assert found.returncode == 2
    said = "nothing was written: nobody can answer here; give --yes to write without asking"
    assert found.stderr.splitlines()[-1] == f"gnnbench: {said}"
    assert state(tmp_path) == before
    assert "1 benchmark function in kernels/test_sum.py" in found.stdout
    assert "they lie inside the package kernels: gnnbench ab cannot compare versions of it" in found.stdout


@pytest.mark.parametrize(("answer", "written"), [(b"n\n", False), (b"\n", True)])
def test_it_asks(tmp_path, in_process, monkeypatch, answer, written):
    (tmp_path / "test_sum.py").write_text(SUITE)
    typing, terminal = pty.openpty()
    os.write(typing, answer)
    with os.fdopen(typing), os.fdopen(terminal) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        found = in_process("init")
    assert found.returncode == 0, found.stderr
    assert "write 3 files? [Y/n]" in found.stdout
    assert ("nothing was written" in found.stdout) is not written
    assert (tmp_path / "gnnbench.toml").exists() is written


@pytest.mark.parametrize(
    ("settings", "file", "text", "name"),
    [
        (
            "python_files = perf_*.py\npython_functions = bench_*\naddopts = --benchmark-skip",
            "perf/perf_sum.py",
            SUITE.replace("test_sum", "bench_sum"),
            "bench_sum",
        ),
        ("testpaths = src", "tests/test_a.py", INDIRECT, "TestSum::test_it"),
        ("python_files = a.py", "bench/bench_sum.py", SUITE, "test_sum"),
    ],
)
def test_pytest_says_what_a_benchmark_is(tmp_path, run, settings, file, text, name):
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{settings}\n")
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(text)
    ran = run()
    assert ran.returncode == 0, ran.stderr
    assert f"1 benchmark function in {file}" in ran.stdout
    assert f"timed: {file}::{name}, " in ran.stdout
    assert ("overridden: pytest's --benchmark-skip" in ran.stdout) is ("skip" in settings)


def test_what_cannot_be_collected_is_named_beside_benchmarks(tmp_path, in_process):
    broken = "import no_such_package\n"
    files = {"bench/bench_sum.py": SUITE, "tests/bench_x.py": SUITE, "tests/conftest.py": broken}
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    found = in_process("init")
    assert "1 benchmark function in bench/bench_sum.py" in found.stdout
    assert "tests cannot be collected: ModuleNotFoundError: No module named 'no_su" in found.stdout


@pytest.mark.parametrize("place", ["collecting", "test_sum.py::test_sum"])
def test_what_hangs_is_stopped(tmp_path, in_process, monkeypatch, place):
    """The collection and then the run of the benchmark have so long."""
    waits = "import time\ntime.sleep(600)\n"
    (tmp_path / "test_sum.py").write_text(waits + SUITE if place == "collecting" else SUITE)
    if place != "collecting":
        monkeypatch.setattr(init, "_repository", lambda folder, _: Project(folder, (place,)))
    monkeypatch.setattr("gnnbench.variants.fresh.running", command.running)
    found = in_process("init", "--yes", "--timeout", "0.5")
    assert found.returncode == 2
    said = f"{place} did not end within 0.5 s, and was stopped; --timeout gives it longer"
    assert f"gnnbench: {said}" in found.stderr.splitlines()
    assert (tmp_path / "gnnbench.toml").exists() is (place != "collecting")


def test_a_suite_that_pytest_cannot_collect_is_exit_2_with_the_reason(tmp_path, run):
    (tmp_path / "test_sum.py").write_text("import no_such_package\n" + SUITE)
    found = run()
    assert found.returncode == 2
    assert found.stderr.splitlines()[-2:] == [
        "gnnbench: no benchmark here: does it need packages that are not installed?",
        "test_sum.py cannot be collected: ModuleNotFoundError: No module named 'no_such_package'",
    ]
    assert not (tmp_path / "gnnbench.toml").exists()


def test_a_benchmark_that_fails_is_exit_2_with_its_output(tmp_path, run):
    (tmp_path / "test_sum.py").write_text("def test_sum(benchmark):\n    import no_such_package\n")
    found = run()
    assert found.returncode == 2
    said = "gnnbench: test_sum.py::test_sum does not run: does it need packages that are not installed?"
    assert said in found.stderr.splitlines()
    assert "process 1 failed: test_sum.py::test_sum raised: ModuleNotFoundError" in found.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "nets.scale:Gone"], "--model 'nets.scale:Gone' is no torch module with a forward"),
        (["--model", "nets.scale:Scale"], "benchmarks/test_scale.py exists and is not overwritten"),
    ],
)
def test_what_cannot_be_is_one_line(model, in_process, words, message):
    (model / "benchmarks").mkdir()
    (model / "benchmarks/test_scale.py").write_text("mine")
    found = in_process("init", "--yes", *words)
    assert found.returncode == 2
    *_, line = found.stderr.splitlines()
    assert message in line
    assert (model / "benchmarks/test_scale.py").read_text() == "mine"


def test_a_folder_without_anything_is_told_how_to_begin(in_process, tmp_path):
    found = in_process("init", "--yes")
    assert found.returncode == 2
    assert "no benchmark and no torch module here; write a test" in found.stderr
    assert not state(tmp_path)


def test_it_finds_the_same_from_each_folder_of_a_repository(model, in_process, monkeypatch):
    def asked():
        found = in_process("init")
        assert "nothing was written: nobody can answer here" in found.stderr
        return found.stdout

    at_the_top = asked()
    monkeypatch.chdir(model / "src")
    assert asked() == f"repository: {model}\n{at_the_top}"
