"""In real repositories; the benchmarks that are written really run."""

import sys

import pytest
import yaml

from gnnbench.cli.main import main
from tests import suite, terminal
from tests.variants.repositories import git

MODEL = """
import torch


class Scale(torch.nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(hidden_dim))

    def forward(self, edge_index):
        return self.weight.sum() * edge_index


class Other(torch.nn.Module):
    def forward(self, x):
        return x
"""
COMMAND = [sys.executable, "-m", "gnnbench", "init"]
SHORT = {"PYTEST_ADDOPTS": f"{suite.BARE} --benchmark-max-time=0.01"}
SUITE = "def test_sum(benchmark):\n    benchmark(sum, [1])\n"


@pytest.fixture
def model(tmp_path):
    """A repository with two models and no benchmark."""
    (tmp_path / "src/nets").mkdir(parents=True)
    (tmp_path / "src/nets/__init__.py").touch()
    (tmp_path / "src/nets/scale.py").write_text(MODEL)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "models")
    return tmp_path


def init(folder, *words, **changes):
    return suite.gnnbench("init", *words, cwd=folder, **changes)


def state(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and not {".git", "__pycache__", ".pytest_cache"} & set(path.parts)
    }


def test_a_repository_with_a_model_gets_a_benchmark_that_runs(model):
    before = state(model)
    found = init(model, "--yes", **SHORT)
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert "models: nets.scale:Scale is measured; --model names another: nets.scale:Other" in lines
    assert "    from nets.scale import Scale" in lines  # shown
    assert any(
        line.startswith("timed: benchmarks/test_scale.py::test_scale_training_step, ") for line in lines
    )
    after = state(model)
    assert {name: text for name, text in after.items() if name in before} == before
    assert sorted(set(after) - set(before)) == [
        ".github/workflows/benchmarks.yml",
        ".gitignore",
        "benchmarks/conftest.py",
        "benchmarks/test_scale.py",
        "gnnbench.toml",
    ]
    assert "return Scale(hidden_dim=HIDDEN).to(DEVICE)" in after["benchmarks/test_scale.py"]
    job = yaml.safe_load(after[".github/workflows/benchmarks.yml"])["jobs"]["gnnbench"]
    assert job["with"]["arguments"] == "benchmarks"
    to_do = "still to do: in .github/workflows/benchmarks.yml, replace OWNER/gnnbench and COMMIT by "
    assert any(line.startswith(to_do) for line in lines)
    assert any(line.startswith("pytest without arguments runs benchmarks too: ") for line in lines)
    again = init(model, "--yes", **SHORT)
    assert again.returncode == 0, again.stderr
    assert "nothing to write" in again.stdout
    assert to_do in again.stdout
    assert state(model) == after


def test_where_pytest_collects_tests_only_nothing_is_said_of_it(model):
    (model / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    found = init(model, "--yes", "--action", "me/gnnbench@v2", **SHORT)
    assert found.returncode == 0, found.stderr
    assert "without arguments" not in found.stdout
    assert "still to do" not in found.stdout


def test_a_repository_with_benchmarks_keeps_them(tmp_path):
    (tmp_path / "test_sum.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --benchmark-disable\n")
    (tmp_path / "gnnbench.toml").write_text('effect = "5%"\n')
    found = init(tmp_path, "--yes", "--action", "me/gnnbench@v2")
    assert found.returncode == 0, found.stderr
    assert "1 benchmark function in test_sum.py" in found.stdout
    assert "timed: test_sum.py::test_sum, " in found.stdout
    after = state(tmp_path)
    assert after["gnnbench.toml"] == 'effect = "5%"\n'
    assert "uses: me/gnnbench/.github/workflows/compare.yml@v2" in after[".github/workflows/benchmarks.yml"]
    assert not [name for name in after if name.startswith("benchmarks/")]


def test_benchmarks_beside_a_package_in_src(tmp_path):
    (tmp_path / "src/kernels").mkdir(parents=True)
    (tmp_path / "src/kernels/__init__.py").touch()
    (tmp_path / "bench").mkdir()
    for name in "abcd":
        (tmp_path / f"bench/test_{name}.py").write_text(SUITE)
    found = init(tmp_path, "--yes")
    assert found.returncode == 0, found.stderr
    assert "4 benchmark functions in bench" in found.stdout
    assert "they lie inside" not in found.stdout


def test_a_package_that_holds_its_benchmarks_is_named(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/__init__.py").touch()
    (tmp_path / "kernels/test_sum.py").write_text(SUITE)
    found = init(tmp_path, "--yes")
    assert "they lie inside the package kernels: gnnbench ab cannot compare versions of it" in found.stdout


@pytest.mark.parametrize(("answer", "written"), [("n\n", False), ("\n", True)])
def test_it_asks(tmp_path, answer, written):
    (tmp_path / "test_sum.py").write_text(SUITE)
    found = terminal.run(COMMAND, tmp_path, suite.environment(), 200, typed=answer)
    output = found.stdout
    assert found.returncode == 0, output
    assert "write 3 files? [Y/n]" in output
    assert ("nothing was written" in output) is not written
    assert (tmp_path / "gnnbench.toml").exists() is written


def test_where_nobody_can_answer_nothing_is_written(tmp_path):
    (tmp_path / "test_sum.py").write_text(SUITE)
    found = init(tmp_path)
    assert found.returncode == 2
    assert found.stderr.splitlines() == [
        "gnnbench: nothing was written: nobody can answer here; give --yes to write without asking"
    ]
    assert list(state(tmp_path)) == ["test_sum.py"]


def test_a_benchmark_that_hangs_is_stopped(tmp_path):
    (tmp_path / "test_sum.py").write_text("import time\ntime.sleep(600)\n" + SUITE)
    found = init(tmp_path, "--yes", "--timeout", "5")
    assert found.returncode == 2
    lines = found.stderr.splitlines()
    assert lines[0].startswith("gnnbench: pytest test_sum.py::test_sum (")
    assert (
        "gnnbench: test_sum.py::test_sum did not end within 5 s, and was stopped; --timeout gives it longer"
        in lines
    )
    assert (tmp_path / "gnnbench.toml").exists()


def test_a_benchmark_that_fails_is_exit_2_with_its_output(tmp_path):
    (tmp_path / "test_sum.py").write_text("import no_such_package\n" + SUITE)
    found = init(tmp_path, "--yes")
    assert found.returncode == 2
    said = "gnnbench: test_sum.py::test_sum does not run: does it need packages that are not installed?"
    assert said in found.stderr.splitlines()
    assert "no_such_package" in found.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "nets.scale:Gone"], "--model 'nets.scale:Gone' is no torch module with a forward"),
        (["--model", "nets.odd:Odd"], "nets.odd:Odd: cannot tell from their names what to give to thing"),
        (["--model", "nets.scale:Scale"], "benchmarks/test_scale.py exists and is not overwritten"),
        (["--action", "here"], "--action 'here' must be OWNER/NAME@REF"),
    ],
)
def test_what_cannot_be_is_one_line(model, monkeypatch, capsys, words, message):
    odd = "import torch\nclass Odd(torch.nn.Module):\n    def forward(self, thing): ...\n"
    (model / "src/nets/odd.py").write_text(odd)
    (model / "benchmarks").mkdir()
    (model / "benchmarks/test_scale.py").write_text("mine")
    monkeypatch.chdir(model)
    assert main(["init", "--yes", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert (model / "benchmarks/test_scale.py").read_text() == "mine"


def test_a_folder_without_anything_is_told_how_to_begin(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--yes"]) == 2
    assert "no benchmark and no torch module here; write a test" in capsys.readouterr().err
    assert not state(tmp_path)


def test_it_runs_at_the_top_of_a_repository(model, monkeypatch, capsys):
    monkeypatch.chdir(model / "src")
    assert main(["init", "--yes"]) == 2
    assert f"is not the top of its repository: cd {model}" in capsys.readouterr().err
