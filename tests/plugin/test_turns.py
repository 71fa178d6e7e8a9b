"""Real pytest runs with `--benchmark-compare` that judge in turns, on the simulated machine."""

import json
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ET

import pytest

from gnnbench.plugin.session import arguments_without
from gnnbench.results.baseline import FOLDER
from tests import terminal
from tests.plugin import recorded
from tests.sampling import nightly
from tests.suite import environment, gnnbench, pytest_on_cpu, run

LIBRARY = """
VERSION = 1

def first(numbers):
    return VERSION, sum(numbers)

def second(numbers):
    return sorted(numbers)
"""
SUITE = """
import library
from helper import twice

def test_first(benchmark):
    benchmark(library.first, [1, 2])

def test_second(benchmark):
    benchmark(library.second, twice([2, 1]))
"""
QUIET = {"sigma": 0.02, "drift": 0, "spike_probability": 0, "process_sigma": 0.003}
COMPARE = "--benchmark-compare"
ONE = "gnnbench: 1 benchmark compared with the times of record 0001 only:"
TEST = "benchmarks/test_library.py::test_first"
TIMES = {"test_first": 1e-3, "test_second": 1e-3}


class Project(recorded.Project):
    """A library and its suite, with one record."""

    @property
    def cache(self):
        return self.folder.parent / "cache"

    def machine(self, base=None, **times):
        """Return the variables of a simulated machine.

        Args:
            base: times of the base in turns that differ.
            times: times of all other processes.
        """
        file = self.folder.parent / f"times-{len(list(self.folder.parent.glob('times-*')))}.json"
        content = {"benchmarks": {**TIMES, **times}, "base": base or {}, "noise": QUIET}
        file.write_text(json.dumps(content))
        return {"GNNBENCH_FAKE_CLOCK": f"5:{file}", "GNNBENCH_CACHE": str(self.cache)}

    def run(self, *arguments, variables=None, **machine):
        """Run pytest; return its result and each benchmark's `comparison`."""
        self.saved.unlink(missing_ok=True)
        given = {**self.machine(**machine), **(variables or {})}
        result = run("benchmarks", *arguments, f"--benchmark-json={self.saved}", cwd=self.folder, **given)
        return result, self.comparisons()

    def record(self):
        words = ("baseline", "record", "--processes", "2", "--", "benchmarks")
        result = gnnbench(*words, cwd=self.folder, **self.machine())
        assert result.returncode == 0, result.stderr

    def worktrees(self):
        return self.git("worktree", "list").splitlines()[1:], list(self.cache.rglob("worktrees/gnnbench-*"))


FILES = {
    "library.py": LIBRARY,
    "conftest.py": "",
    "benchmarks/helper.py": "def twice(numbers):\n    return 2 * numbers\n",
    "benchmarks/test_library.py": SUITE,
    ".gitignore": "__pycache__\nbaselines\n",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    project = Project.make(tmp_path_factory.mktemp("whole") / "project", FILES)
    (project.folder / "baselines").mkdir()
    project.record()
    return project.folder


@pytest.fixture
def project(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "project")
    return Project(tmp_path / "project")


def verdicts(found):
    return {name: one["verdict"] for name, one in found.items()}


def test_the_base_gets_no_option_that_its_gnnbench_may_not_know(pytester):
    words = (COMPARE, "--gnn-time=4min", "--gnn-budget", "9", "--gnn-device=cpu", "-q")
    found = arguments_without(pytester.parseconfigure(*words), "time")
    assert not {"9", COMPARE} & set(found)
    assert not any("time" in word or "budget" in word for word in found)
    assert {"--gnn-device=cpu", "-q"} <= set(found)


def test_a_slowdown_is_found_in_turns_and_lines_fit_a_terminal_with_the_command_that_repeats_it(project):
    commit = project.git("rev-parse", "HEAD")
    project.edit()
    machine = project.machine(base={"test_first": 0.5e-3})
    files = [f"--benchmark-json={project.saved}", f"--junitxml={project.folder.parent / 'junit.xml'}"]
    command = pytest_on_cpu("benchmarks", COMPARE, *files)
    result = terminal.run(command, project.folder, environment(**machine))
    assert result.returncode == 1, result.stdout
    assert project.worktrees() == ([], [])
    found = project.comparisons()
    assert verdicts(found) == {"test_first": "slower", "test_second": "same"}
    assert (found["test_first"]["in_turns"], found["test_second"]["in_turns"]) == (True, False)
    assert found["test_first"]["against"] == "0001"
    assert found["test_first"]["ratio"] == pytest.approx(2, rel=0.02)
    assert found["test_second"]["same_code"]
    text = " ".join(result.stdout.split())
    assert "gnnbench: since record 0001: 1 changed file in this project" in text
    assert "timing 1 benchmark in turns with record 0001, for at most 300 s" in text
    assert "timing again" not in text

    lines = result.stdout.splitlines()
    (first,) = [number for number, line in enumerate(lines) if "gnnbench ab" in line]
    last = next(number for number in range(first, len(lines)) if not lines[number].endswith("\\"))
    repeat = " ".join(line.strip().removesuffix("\\").strip() for line in lines[first : last + 1])
    assert repeat == f"gnnbench ab git:{commit} . -- -p no:cacheprovider --gnn-device cpu {TEST}"
    lines[first : last + 1] = [f"  {repeat}"]
    start = next(number for number, line in enumerate(lines) if line.startswith("slower: "))
    reason = lines[start : first + 1]
    assert max(map(len, reason[:-1])) <= 80
    assert all(line.startswith("  ") for line in reason[1:])
    whole = " ".join(line.strip() for line in reason)
    assert " in the baseline; the simultaneous 99% interval excludes 1; " in whole
    code = "pairs of processes; code: same functions, other values (library.VERSION) [record 0001]; repeat:"
    assert code in whole
    ours = [line for line in lines if line.startswith(("gnnbench: ", "  ")) and line != lines[first]]
    assert max(map(len, ours)) <= 80
    (summary,) = [line for line in lines if line.startswith(f"FAILED {TEST}")]
    assert " - slower: " in summary
    (saved,) = ET.parse(project.folder.parent / "junit.xml").getroot().iter("failure")
    assert saved.get("message") == whole, "a file has the line whole"


@pytest.mark.nightly
def test_a_changed_definition_is_a_note_in_turns_where_a_slower_machine_fails_nothing(project):
    project.edit()
    project.edit("[1, 2]", "[1, 2, 3]", "benchmarks/test_library.py")
    slow = {name: 1.3 * seconds for name, seconds in TIMES.items()}
    result, found = project.run(COMPARE, **slow)
    assert result.returncode == 0, result.stdout
    assert verdicts(found) == {"test_first": "same", "test_second": "same"}
    assert "this machine takes 1.30x the time of record 0001 for the same code" in result.stdout
    assert "both sides ran today's" in " ".join(found["test_first"]["notes"])


@pytest.mark.nightly
def test_turns_may_be_left_out(project):
    project.edit("[1, 2]", "[1, 2, 3]", "benchmarks/test_library.py")
    project.edit("return sorted(numbers)", "return [*sorted(numbers)]")
    result, found = project.run(COMPARE, "--gnn-turns=never", base={"test_second": 0.5e-3})
    assert result.returncode == 0, result.stdout
    assert f"{ONE.replace('1 benchmark', '2 benchmarks')} --gnn-turns never" in result.stdout
    assert " in turns" not in result.stdout
    assert not found["test_second"]["in_turns"]
    assert found["test_first"]["verdict"] == "incomparable"
    assert found["test_first"]["reason"].startswith("different definition of the benchmark: hash")
    result, found = project.run(f"{COMPARE}=git:main", "--gnn-turns=never")
    assert result.returncode == 1
    assert "git:main can be compared in turns only: leave out --gnn-turns never" in result.stdout
    assert found == {}


def test_a_dry_run_times_nothing(project):
    project.edit()
    result, found = project.run(COMPARE, "--gnn-dry-run")
    assert result.returncode == 0, result.stdout
    assert found == {}
    assert (
        "gnnbench: dry run: would time 1 benchmark in turns with record 0001:\n"
        f"gnnbench:   {TEST}\n"
        "gnnbench: dry run: 1 benchmark with the same code\n"
        "gnnbench: dry run: the turns would take at most 300 s\n"
    ) in result.stdout
    assert "incomparable" not in result.stdout


@pytest.mark.nightly
def test_what_the_budget_does_not_reach_is_undecided_and_goes_on_by_a_command(project):
    project.edit()
    project.edit("return sorted(numbers)", "return [*sorted(numbers)]")
    result, found = project.run(COMPARE, "--gnn-budget=1")
    assert result.returncode == 0, result.stdout
    assert set(verdicts(found).values()) == {"undecided"}
    assert "gnnbench: None of 2 benchmarks could be decided" in result.stdout
    (line,) = [
        line for line in result.stdout.splitlines() if "to time 2 benchmarks for longer: pytest" in line
    ]
    assert " benchmarks " in line
    assert "::" not in line, "what was given selects the same"
    command, _, seconds = line.rpartition("=")
    assert command.endswith(" --benchmark-compare=0001 --gnn-budget")
    assert float(seconds) >= 2


def test_a_commit_that_is_gone_leaves_the_rule_across_sessions(project):
    project.edit()
    project.git("checkout", "-q", "--orphan", "other")
    project.git("commit", "-qam", "other")
    project.git("branch", "-D", "main")
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "-q", "--prune=now")
    result, found = project.run(COMPARE)
    assert result.returncode == 0, result.stdout
    assert f"{ONE} git:" in result.stdout
    assert "names no commit" in result.stdout
    assert not found["test_first"]["in_turns"]
    assert found["test_second"]["same_code"]


@pytest.mark.parametrize("number", [nightly(pytest.param(signal.SIGINT)), signal.SIGTERM])
def test_interrupted_turns_leave_no_worktree_and_say_so(project, number):
    project.edit()
    variables = {**project.machine(), "GNNBENCH_FAKE_CLOCK": None}  # turns last on a real clock
    process = subprocess.Popen(
        pytest_on_cpu("benchmarks", COMPARE, "--gnn-budget=600"),
        cwd=project.folder,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout
    for line in process.stdout:
        if "timing 1 benchmark in turns" in line:
            break
    time.sleep(0.3)
    process.send_signal(number)
    rest = process.stdout.read()
    assert process.wait(60) == 2
    assert "interrupted" in rest
    assert project.worktrees() == ([], [])


@pytest.mark.nightly
def test_without_git_versions_are_built_again_and_changed_functions_are_not(project):
    shutil.rmtree(project.folder / ".git")
    shutil.rmtree(project.folder / FOLDER)
    project.record()
    project.edit("return sorted(numbers)", "return [*sorted(numbers)]")
    result, found = project.run(COMPARE, base={"test_second": 0.5e-3})
    assert result.returncode == 0, result.stdout
    assert f"{ONE} they run other code of library, which is not in git" in result.stdout
    assert found["test_first"]["same_code"]
    assert not found["test_second"]["in_turns"]


@pytest.mark.nightly
def test_code_that_cannot_be_built_again_is_never_taken_for_the_same(project):
    """The record's benchmarks called other code beside them, which both sides import from today's tree."""
    project.edit("2 * numbers", "3 * numbers", "benchmarks/helper.py")
    result, found = project.run(COMPARE)
    assert result.returncode == 0, result.stdout
    said = "benchmarks/test_library.py::test_second compared with the times of record 0001 only: "
    assert f"{said}the code that differs could not be built again" in result.stdout
    assert found["test_first"]["same_code"]
    assert not found["test_second"]["in_turns"]
    assert not found["test_second"]["same_code"]


@pytest.mark.nightly
def test_another_setting_is_compared_across_sessions(project):
    result, found = project.run(COMPARE, variables={"TORCH_SHOW_CPP_STACKTRACES": "1"})
    assert result.returncode == 0, result.stdout
    said = f"{ONE.replace('1 benchmark', '2 benchmarks')} commit and packages are the record's;"
    assert f"{said} a setting or a value differs" in result.stdout
    assert not any(one["in_turns"] for one in found.values())


@pytest.mark.nightly
def test_a_commit_is_the_base_and_an_accepted_slowdown_fails_no_test(project):
    project.git("config", "user.name", "Ada")
    project.git("config", "user.email", "ada@example.org")
    project.edit()
    project.git("commit", "-qam", "slower, as intended")
    result, found = project.run(f"{COMPARE}=git:HEAD~1", base={"test_first": 0.9e-3})
    assert result.returncode == 1, result.stdout
    assert verdicts(found) == {"test_first": "slower", "test_second": "same"}
    assert found["test_first"]["against"] == "git:HEAD~1"
    assert found["test_first"]["base"] == {"commits": [project.git("rev-parse", "HEAD~1")], "dirty": False}
    assert found["test_second"]["same_code"]
    done = gnnbench("accept", str(project.saved), "--reason", "checks its input", cwd=project.folder)
    assert done.returncode == 0, done.stderr
    assert f" to {project.git('rev-parse', 'HEAD')[:10]}: {TEST}\n" in done.stdout

    result, found = project.run(COMPARE, base={"test_first": 0.9e-3})
    assert result.returncode == 0, result.stdout
    assert verdicts(found) == {"test_first": "accepted", "test_second": "same"}
    assert found["test_first"]["base"] == {"commits": [project.git("rev-parse", "HEAD~1")], "dirty": False}
    assert found["test_first"]["accepted"]["reasons"] == ["checks its input"]
    assert "): checks its input: test_first\n" in result.stdout
    assert "0 slower, 1 accepted, 0 faster, 1 same" in result.stdout
