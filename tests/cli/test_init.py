import os
import pty

import pytest
import yaml

from gnnbench.engine.cli import init
from gnnbench.engine.drive import adopt
from gnnbench.engine.drive.adopt import Project
from gnnbench.engine.process.variants import command
from tests import suite
from tests.forks import ASLEEP
from tests.variants.repositories import git

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


@pytest.fixture(autouse=True)
def _forked(in_process, monkeypatch):  # noqa: ARG001 - which clears variables before
    """Let the pytests of a command be forks."""
    suite.as_a_user(monkeypatch, PYTEST_ADDOPTS=suite.BARE, **ASLEEP)


@pytest.fixture
def run(in_process):
    return lambda *words: in_process("init", "--yes", *words)


def state(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and not {".git", "__pycache__", ".pytest_cache"} & set(path.parts)
    }


def test_a_repository_without_benchmarks_gets_one_that_its_owner_completes(tmp_path, run):
    (tmp_path / "src").mkdir()
    before = state(tmp_path)
    found = run()
    assert found.returncode == 0, found.stderr
    said = "still to do: benchmarks/test_model.py:18: write your model where ... stands; then run: "
    assert f"{said}python -m pytest benchmarks" in found.stdout.splitlines()
    after = state(tmp_path)
    assert {name: text for name, text in after.items() if name in before} == before
    assert sorted(set(after) - set(before)) == [
        ".github/workflows/benchmarks.yml",
        ".gitignore",
        "benchmarks/conftest.py",
        "benchmarks/test_model.py",
        "gnnbench.toml",
    ]
    assert 'parents[1] / "src"' in after["benchmarks/conftest.py"]
    job = yaml.safe_load(after[".github/workflows/benchmarks.yml"])["jobs"]["gnnbench"]
    assert job["with"]["arguments"] == "benchmarks"
    assert "\npytest without arguments runs benchmarks too: " in found.stdout
    assert "\nstill to do: in .github/workflows/benchmarks.yml, replace OWNER/gnnbench" in found.stdout
    file = tmp_path / "benchmarks/test_model.py"
    file.write_text(after["benchmarks/test_model.py"].replace("return ...", "return torch.nn.PReLU()"))
    file.write_text(file.read_text().replace("(x, edge_index)", "(x,)"))
    again = run()
    assert again.returncode == 0, again.stderr
    assert "to see that they run: python -m pytest benchmarks" in again.stdout
    assert "nothing to write" in again.stdout
    assert "write your model" not in again.stdout


def test_benchmarks_inside_their_package_are_compared_with_a_record(tmp_path, capsys):
    """`gnnbench ab` would import both sides' package from the working tree."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/__init__.py").touch()
    planned = adopt.make(Project(tmp_path, ["kernels/test_sum.py::test_sum"]), None, settings=True)
    init._show(planned)
    assert "\nthey lie inside the package kernels: " in capsys.readouterr().out
    init._say_next(planned)
    *_, record, compare = capsys.readouterr().out.replace("\n  ", " ").splitlines()
    assert record.startswith("commit, and before your next change: gnnbench baseline record -- ")
    assert record.endswith("kernels/test_sum.py")
    assert compare.startswith("after it: ")
    assert "python -m pytest " in compare
    assert compare.endswith("kernels/test_sum.py --benchmark-compare")


def test_a_repository_with_benchmarks_keeps_them(tmp_path, run):
    (tmp_path / "test_sum.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --benchmark-disable\n")
    (tmp_path / "gnnbench.toml").write_text('effect = "5%"\n')
    found = run("--action", "me/gnnbench@v2")
    assert found.returncode == 0, found.stderr
    assert "1 benchmark function in test_sum.py" in found.stdout
    after = state(tmp_path)
    assert after["gnnbench.toml"] == 'effect = "5%"\n'
    assert "uses: me/gnnbench/.github/workflows/compare.yml@v2" in after[".github/workflows/benchmarks.yml"]
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
        ("testpaths = src", "tests/test_a.py", INDIRECT),
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


def test_what_hangs_is_stopped(tmp_path, in_process, monkeypatch):
    (tmp_path / "test_sum.py").write_text("import time\ntime.sleep(600)\n" + SUITE)
    monkeypatch.setattr("gnnbench.engine.process.variants.fresh.running", command.running)
    found = in_process("init", "--yes", "--timeout", "0.5")
    assert found.returncode == 2
    said = "collecting did not end in time, and was stopped; --timeout gives it longer"
    assert f"gnnbench: {said}" in found.stderr.splitlines()
    assert not (tmp_path / "gnnbench.toml").exists()


def test_a_suite_that_pytest_cannot_collect_is_exit_2_with_the_reason(tmp_path, run):
    (tmp_path / "test_sum.py").write_text("import no_such_package\n" + SUITE)
    found = run()
    assert found.returncode == 2
    assert found.stderr.splitlines()[-2:] == [
        "gnnbench: no benchmark here: does it need packages that are not installed?",
        "test_sum.py cannot be collected: ModuleNotFoundError: No module named 'no_such_package'",
    ]
    assert not (tmp_path / "gnnbench.toml").exists()


def test_it_finds_the_same_from_each_folder_of_a_repository(tmp_path, in_process, monkeypatch):
    (tmp_path / "src").mkdir()
    git(tmp_path, "init", "-q")

    def asked():
        found = in_process("init")
        assert (found.returncode, state(tmp_path)) == (2, {})
        assert "nothing was written: nobody can answer here" in found.stderr
        return found.stdout

    at_the_top = asked()
    monkeypatch.chdir(tmp_path / "src")
    assert asked() == f"repository: {tmp_path}\n{at_the_top}"


def test_benchmarks_that_settings_deselect_exist_and_the_commands_take_them(tmp_path, run):
    (tmp_path / "pytest.ini").write_text('[pytest]\nmarkers = perf\naddopts = -m "not perf"\n')
    (tmp_path / "test_sum.py").write_text(f"import pytest\npytestmark = pytest.mark.perf\n{SUITE}")
    found = run()
    assert found.returncode == 0, found.stderr
    said = found.stdout.splitlines()
    assert "deselected by -m 'not perf' (addopts in pytest.ini, which -m '' overrides): 1 benchmark" in said
    assert "1 benchmark function in test_sum.py" in said
    assert "to see that they run: python -m pytest test_sum.py -m ''" in said
    workflow = yaml.safe_load((tmp_path / ".github/workflows/benchmarks.yml").read_text())
    assert workflow["jobs"]["gnnbench"]["with"]["arguments"] == "test_sum.py -m ''"
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
