import os
import pty
import tomllib
from pathlib import PurePath

import pytest
import yaml

from gnnbench.engine.drive import adopt, first_benchmark, survey
from gnnbench.engine.process.variants import command
from tests import runs
from tests.engine.process.variants.repositories import commit_all, git
from tests.forks import ASLEEP

SUITE = "def test_sum(benchmark):\n    benchmark(sum, [1])\n"
FIXTURE = "import pytest\n\n@pytest.fixture\ndef timed(benchmark):\n    return benchmark\n"
MODEL = """
import torch

class MeanConv(torch.nn.Module):
    def __init__(self, in_channels, bias=True):
        super().__init__()
        self.linear = torch.nn.Linear(in_channels, 1)
    def forward(self, x, edge_index):
        return self.linear(scatter(x[edge_index[0]], edge_index[1], dim_size=x.size(0)))

class Picture(torch.nn.Conv2d):
    def __init__(self, channels: int):
        super().__init__(channels, 2, 3)
    def forward(self, picture: torch.Tensor):
        return super().forward(picture)

def scatter(src, index, *, dim_size: int):
    return src.new_zeros(dim_size, src.size(1)).index_add(0, index, src)

def perceptron(x, w1, b1):
    return x @ w1 + b1

def scaled(X, weight: torch.Tensor, bias: torch.Tensor):
    return torch.nn.functional.layer_norm(X, X.shape[-1:], weight, bias)

def picture(x, target):
    return torch.nn.functional.cross_entropy(x, target)

def convert(x: torch.Tensor):
    return x.numpy()
"""
PRIVATE = """
import torch
def integrate(func, y0): ...
def first(y0): return y0[0]
def hidden(x): ...
"""


@pytest.fixture(autouse=True)
def _forked(in_process, monkeypatch):  # noqa: ARG001 - which clears variables before
    """Let the pytests of a command be forks."""
    runs.as_a_user(monkeypatch, PYTEST_ADDOPTS=runs.BARE, **ASLEEP)


@pytest.fixture
def run(in_process):
    return lambda *words: in_process("init", "--yes", *words)


def state(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and not {".git", "__pycache__", ".pytest_cache"} & set(path.parts)
    }


MODULES = """
import numpy

class Layer:
    def __init__(self, channels, plan):
        pass
    def forward(self, x):
        return x

def scaled(x: numpy.ndarray, factor: float):
    return x * factor

def crashing(x: numpy.ndarray):
    import os
    os.abort()

def refused(x: numpy.ndarray):
    raise ValueError("no such shape")

def load(path: str):
    raise AssertionError
"""
LARGE = """
import numpy

def distances(x: numpy.ndarray):
    return abs(x[:, None, :] - x[None, :, :]).sum(2)
"""


@pytest.mark.parametrize(
    ("place", "name"), [("src/", "kernels"), ("src/", "src.kernels"), ("python/", "kernels"), ("", "kernels")]
)
def test_a_repository_without_benchmarks_gets_one_that_runs(tmp_path, run, monkeypatch, place, name):
    monkeypatch.setattr("gnnbench.engine.drive.first_benchmark.running", command.running)
    (tmp_path / "src").mkdir()  # perhaps of C files
    (tmp_path / f"{place}kernels").mkdir(parents=True)
    (tmp_path / f"{place}kernels/__init__.py").write_text(f"from {name}.modules import scaled")
    (tmp_path / f"{place}kernels/modules.py").write_text(MODULES)
    before = state(tmp_path)
    found = run()
    assert found.returncode == 0, found.stderr
    said = found.stdout.splitlines()
    assert said[:3] == [
        f"no benchmark for {place}kernels/modules.py:13: crashing: a call ended the process",
        f"no benchmark for {place}kernels/modules.py:17: refused: ValueError: no such shape",
        f"no benchmark for {place}kernels/modules.py:4: Layer: no value known for parameter plan",
    ]
    assert "to run the benchmarks: python -m pytest benchmarks" in said
    after = state(tmp_path)
    assert {name: text for name, text in after.items() if name in before} == before
    assert sorted(set(after) - set(before)) == [
        ".github/workflows/benchmarks.yml",
        ".gitignore",
        "benchmarks/conftest.py",
        "benchmarks/test_operations.py",
        "gnnbench.toml",
    ]
    assert "\npytest without arguments also runs benchmarks: " in found.stdout
    assert "\nstill to do: in .github/workflows/benchmarks.yml, replace OWNER/gnnbench" in found.stdout
    ran = runs.run("benchmarks", "-v", "--benchmark-disable", cwd=tmp_path)
    assert "test_operations.py::test_scaled PASSED" in ran.stdout


@pytest.mark.parametrize("text", ["", "import torch\n"])
def test_where_nothing_can_be_called_the_benchmark_is_an_example(tmp_path, run, text):
    (tmp_path / "model.py").write_text(f"{text}def load(path): ...\n")
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\npython_files = tests/*.py\n")
    found = run()
    assert "\nno operation of this repository could be called" in f"\n{found.stdout}"
    assert "to run the benchmarks: python -m pytest benchmarks/test_operations.py" in found.stdout
    ran = runs.run("benchmarks/test_operations.py", "--benchmark-disable", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout


def test_a_model_is_run_with_the_shapes_that_its_layers_take(tmp_path):
    files = {
        "model.py": MODEL,
        "solvers/__init__.py": "from ._all import first, integrate",
        "solvers/_all.py": PRIVATE,
        "solvers/layers/__init__.py": "from solvers._all import hidden",
        "solvers/broken.py": "import torch\n\ndef broken(x:\n",
    }
    (tmp_path / "solvers/layers").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    written = first_benchmark.write(survey.Survey(tmp_path))
    assert written.cannot == [
        "solvers/broken.py: SyntaxError: '(' was never closed (broken.py, line 3)",
        "model.py:29: convert: a call converts tensors to NumPy arrays",
        "solvers/_all.py:3: integrate: no value known for parameter func",
    ]
    assert not written.untried
    assert "MeanConv(in_channels=FEATURES).to(DEVICE)" in written.text
    assert "benchmark(model, values(NODES, FEATURES), indices(2, EDGES))" in written.text
    assert "def test_Picture(benchmark):" in written.text  # beside test_picture
    assert "benchmark(training_step, model, values(8, FEATURES, 32, 32))" in written.text
    assert "benchmark(scatter, values(EDGES, FEATURES), indices(EDGES), dim_size=NODES)" in written.text
    assert "benchmark(scaled, values(NODES, FEATURES), values(FEATURES), values(FEATURES))" in written.text
    assert "benchmark(picture, values(NODES, FEATURES), indices(NODES) % FEATURES)" in written.text
    assert "from solvers import first\n" in written.text
    guessed = "# Guessed from names; check this: x [NODES, FEATURES], w1 [FEATURES, FEATURES], b1 [FEATURES]."
    assert f"\n{guessed}\ndef test_perceptron(benchmark):\n" in written.text


def test_an_input_for_which_a_call_needs_gibibytes_is_not_chosen(tmp_path):
    (tmp_path / "large.py").write_text(LARGE)
    written = first_benchmark.write(survey.Survey(tmp_path))
    assert "benchmark(distances, values(FEATURES, FEATURES))" in written.text


@pytest.mark.parametrize(
    ("setup", "file", "build"),
    [
        ("setup(ext_modules=[])", "a.c", "pip install ."),
        ("import cpp_extension\nsetup(ext_modules=[])", "a.cu", "pip install --no-build-isolation ."),
        ("setup(ext_modules=[])", "a.txt", None),
        ("setup()", "a.c", None),
    ],
)
def test_the_settings_of_a_package_with_compiled_code_build_it(tmp_path, setup, file, build):
    (tmp_path / "setup.py").write_text(setup)
    (tmp_path / file).touch()
    commit_all(tmp_path, "first")
    plan = adopt.make(adopt.Project(tmp_path, ["test_a.py::test_a"]), None, settings=True)
    assert tomllib.loads(plan.files[PurePath("gnnbench.toml")]).get("build") == build


def test_what_gets_no_benchmark_is_named(tmp_path, in_process):
    timed = [f"def f{i}(x): return x\n" for i in range(22)]
    untimed = [f"def g{i}(x, plan{i}): return x\n" for i in range(17)]
    (tmp_path / "operations.py").write_text("".join(["import numpy\n", *timed, *untimed]))
    said = in_process("init").stdout
    assert said.count("def test_f") == 12
    assert "\n10 more operations could be timed: f12, f13, f14, f15, f16, f17, f18, f19 and 2 more\n" in said
    assert "\nno benchmark for operations.py:31: g7: no value known for parameter plan7\n" in said
    assert "\nno benchmark for g8, g9, g10, g11, g12, g13, g14, g15 and 1 more; -v says why\n" in said
    said = in_process("init", "-v").stdout
    assert "\nno benchmark for operations.py:40: g16: no value known for parameter plan16\n" in said
    assert "\n10 more operations could be timed: f12, f13, f14, f15, f16, f17, f18, f19, f20, f21\n" in said


def test_a_repository_with_benchmarks_keeps_them(tmp_path, run):
    (tmp_path / "test_sum.py").write_text(SUITE.replace("benchmark", "timed"))
    (tmp_path / "conftest.py").write_text(FIXTURE)
    (tmp_path / "test_other.py").write_text("raise AssertionError('a file without benchmarks is read')\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --benchmark-disable\n")
    (tmp_path / "gnnbench.toml").write_text('effect = "5%"\n')
    found = run("--action", "me/gnnbench@v2")
    assert found.returncode == 0, found.stderr
    assert "1 benchmark function in test_sum.py" in found.stdout
    after = state(tmp_path)
    assert after["gnnbench.toml"] == 'effect = "5%"\n'
    assert "uses: me/gnnbench@v2\n" in after[".github/workflows/benchmarks.yml"]
    assert not [name for name in after if name.startswith("benchmarks/")]
    again = run()
    assert again.returncode == 0, again.stderr
    assert "nothing to write" in again.stdout
    assert "still to do" not in again.stdout
    assert state(tmp_path) == after


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
    ("settings", "file", "text"),
    [
        (
            "python_files = perf_*.py\npython_functions = bench_*\naddopts = --benchmark-skip",
            "perf/perf_sum.py",
            SUITE.replace("test_sum", "bench_sum"),
        ),
        ("testpaths = src", "tests/test_a.py", SUITE),
    ],
)
def test_pytest_says_what_a_benchmark_is(tmp_path, run, settings, file, text):
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{settings}\n")
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(text)
    ran = run()
    assert ran.returncode == 0, ran.stderr
    assert f"1 benchmark function in {file}" in ran.stdout


def test_what_cannot_be_collected_is_named_beside_benchmarks(tmp_path, in_process):
    broken = "import no_such_package\n"
    files = {"bench/test_sum.py": SUITE, "tests/test_x.py": SUITE, "tests/conftest.py": broken}
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    found = in_process("init")
    assert "1 benchmark function in bench/test_sum.py" in found.stdout
    assert "tests cannot be collected: ModuleNotFoundError: No module named 'no_su" in found.stdout


def test_files_that_pytest_does_not_find_can_be_named(tmp_path, in_process, monkeypatch):
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench/bench_sum.py").write_text(SUITE)
    git(tmp_path, "init", "-q")
    monkeypatch.chdir(tmp_path / "bench")
    assert "1 benchmark function in bench/bench_sum.py" in in_process("init", "bench_sum.py").stdout


def test_a_suite_that_pytest_cannot_collect_is_exit_2_with_the_reason(tmp_path, run):
    (tmp_path / "test_sum.py").write_text("import no_such_package\n" + SUITE)
    found = run()
    assert found.returncode == 2
    assert found.stderr.splitlines()[-2:] == [
        "gnnbench: pytest finds no benchmarks; install the packages that these files import",
        "test_sum.py cannot be collected: ModuleNotFoundError: No module named 'no_such_package'",
    ]
    assert not (tmp_path / "gnnbench.toml").exists()


def test_benchmarks_that_settings_deselect_exist_and_the_commands_take_them(tmp_path, run):
    (tmp_path / "pytest.ini").write_text('[pytest]\nmarkers = perf\naddopts = -m "not perf"\n')
    (tmp_path / "test_sum.py").write_text(f"import pytest\npytestmark = pytest.mark.perf\n{SUITE}")
    found = run()
    assert found.returncode == 0, found.stderr
    said = found.stdout.splitlines()
    assert "deselected by -m 'not perf' (-m '' undoes it): 1 benchmark" in said
    assert "1 benchmark function in test_sum.py" in said
    assert "to run the benchmarks: python -m pytest test_sum.py -m ''" in said
    workflow = yaml.safe_load((tmp_path / ".github/workflows/benchmarks.yml").read_text())
    assert workflow["jobs"]["ab"]["steps"][-1]["with"]["arguments"] == "test_sum.py -m ''"
    assert not (tmp_path / "benchmarks").exists()


@pytest.mark.parametrize("text", ["import pytest\npytest.importorskip('no_such_package')\n", ""])
def test_where_benchmarks_may_be_left_out_nothing_is_written(tmp_path, run, text):
    (tmp_path / "bench_sum.py" if not text else tmp_path / "test_sum.py").write_text(text + SUITE)
    found = run()
    assert found.returncode == 2
    line, why = found.stderr.splitlines()[-2:]
    assert line == "gnnbench: pytest finds no benchmarks here"
    assert why.startswith("skipped: could not import" if text else "not collected, as python_files is")
    assert not (tmp_path / "gnnbench.toml").exists()
