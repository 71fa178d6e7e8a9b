"""Real pytest runs with `--benchmark-compare` that judge in turns, on the simulated machine."""

import signal
import subprocess
import time

import pytest

from tests import terminal
from tests.engine.plugin import recorded
from tests.engine.plugin.recorded import COMPARE, QUIET
from tests.runs import environment, gnnbench, pytest_on_cpu
from tests.sampling import nightly

LIBRARY = """
VERSION = 1

def first(numbers):
    return sum(numbers) * VERSION // VERSION

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
FILES = {
    "library.py": LIBRARY,
    "conftest.py": "",
    "benchmarks/helper.py": "def twice(numbers):\n    return 2 * numbers\n",
    "benchmarks/test_library.py": SUITE,
    ".gitignore": "__pycache__\nbaselines\nonce.json\n",
}
TEST = "benchmarks/test_library.py::test_first"
TIMES = {"test_first": 1e-3, "test_second": 1e-3}


class Project(recorded.Project):
    @property
    def cache(self):
        return self.folder.parent / "cache"

    def machine(self, **times):
        """Return the variables of a simulated machine; `base` has times of the base in turns that differ."""
        noise = {**QUIET, "process_sigma": 0.003}
        clock = recorded.machine(self.folder.parent, 5, noise, **{**TIMES, **times})
        return {**clock, "GNNBENCH_CACHE": str(self.cache)}

    def run(self, *arguments, **times):
        return self.measured("benchmarks", *arguments, **self.machine(**times)), self.comparisons()

    def worktrees(self):
        return list(self.cache.rglob("worktrees/gnnbench-*"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    project = Project.make(tmp_path_factory.mktemp("whole") / "project", FILES)
    recorded.save(project.folder, recorded.measure(project.folder, "benchmarks", **project.machine()), 2)
    return project.folder


@pytest.fixture
def project(whole, tmp_path):
    return Project.copy(whole, tmp_path / "project")


def test_a_slowdown_is_found_in_turns_and_lines_fit_a_terminal_with_the_command_that_repeats_it(project):
    commit = project.git("rev-parse", "HEAD")
    project.edit()
    machine = project.machine(base={"test_first": 0.5e-3})
    files = [f"--benchmark-json={project.saved}", f"--junitxml={project.junit}"]
    command = pytest_on_cpu("benchmarks", COMPARE, "--gnn-budget=200", *files)
    result = terminal.run(command, project.folder, environment(**machine))
    assert result.returncode == 1, result.stdout
    assert project.worktrees() == []
    found = project.comparisons()
    assert project.verdicts() == {"test_first": "slower", "test_second": "same"}
    pairs = found["test_first"]["pairs"], found["test_second"].get("pairs")
    assert (pairs[0] > 0, pairs[1]) == (True, None)
    assert found["test_first"]["ratio"] == pytest.approx(2, rel=0.02)
    assert found["test_second"]["same_code"]
    text = " ".join(result.stdout.split())
    assert " and 1 changed file" in text.partition("gnnbench: changed since record 0001: this project ")[2]
    assert "timing 1 benchmark in turns with record 0001, for at most 200 s" in text
    assert "timing again" not in text

    lines = result.stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("slower: "))
    first = next(number for number in range(start, len(lines)) if "gnnbench ab" in lines[number])
    last = next(number for number in range(first, len(lines)) if not lines[number].endswith("\\"))
    repeat = " ".join(line.strip().removesuffix("\\").strip() for line in lines[first : last + 1])
    assert repeat == f"gnnbench ab git:{commit} . -- -p no:cacheprovider --gnn-device cpu {TEST}"
    lines[first : last + 1] = [f"  {repeat}"]
    reason = lines[start : first + 1]
    assert all(line.startswith("  ") for line in reason[1:])
    whole = " ".join(line.strip() for line in reason)
    assert " in the baseline; the simultaneous 99% interval excludes 1; " in whole
    code = "; code: same functions, different values (library.VERSION) [record 0001]; repeat:"
    assert code in whole
    ours = [line for line in lines if line.startswith(("gnnbench: ", "  ")) and line != lines[first]]
    assert max(map(len, [*ours, *reason[:-1]])) <= 80
    (summary,) = [line for line in lines if line.startswith(f"FAILED {TEST}")]
    assert " - slower: " in summary
    assert project.failures() == {"test_first": whole}, "a file has the line whole"


def test_benchmarks_that_all_have_a_different_output_are_judged(project):
    library = project.folder / "library.py"
    library.write_text(LIBRARY.replace("// VERSION", "+ 1").replace("sorted(numbers)", "sorted(numbers)[1:]"))
    result, _ = project.run(COMPARE)
    assert result.returncode == 1
    assert "All 2 benchmarks have a different output" in result.text
    assert "judged" not in result.text


def test_what_cannot_be_built_again_is_compared_across_sessions(project):
    project.edit()
    project.git("checkout", "-q", "--orphan", "other")
    project.git("commit", "-qam", "other")
    project.git("branch", "-D", "main")
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "-q", "--prune=now")
    result, found = project.run(COMPARE)
    assert result.returncode == 0, result.stdout
    assert "1 benchmark compared only with the times of record 0001: git:" in result.text
    assert {name for name, one in found.items() if one["same_code"]} == {"test_second"}
    assert not any("pairs" in one for one in found.values())


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
        if "in turns with record" in line:
            break
    time.sleep(0.3)
    process.send_signal(number)
    rest = process.stdout.read()
    assert process.wait(60) == 2
    assert "interrupted" in rest
    assert project.worktrees() == []


# A generator that is interrupted when it is entered has no line in Python 3.11, which pytest cannot show.
NO_LINE = """
from gnnbench.engine.drive import coordinator, inspector

def run(*_):
    raise KeyboardInterrupt

run.__code__ = run.__code__.replace(co_linetable=b"")
{}.run = run
"""


@pytest.mark.parametrize("place", ["coordinator", "inspector.Inspector"])
def test_an_interruption_at_any_point_of_the_turns_says_so(project, place):
    project.edit()
    (project.folder / "conftest.py").write_text(NO_LINE.format(place))
    result = project.measured("benchmarks", COMPARE, **project.machine())
    assert result.returncode == 2, result.stdout
    assert "failed: interrupted: the timed benchmarks were not compared" in result.text


@pytest.mark.nightly
def test_a_commit_is_the_base_and_an_accepted_slowdown_fails_no_test(project):
    project.edit()
    project.git("commit", "-qam", "slower, as intended")
    result, _ = project.run(f"{COMPARE}=git:HEAD~1", base={"test_first": 0.9e-3})
    assert result.returncode == 1, result.stdout
    assert project.verdicts() == {"test_first": "slower", "test_second": "same"}
    lines = result.stdout.splitlines()
    cause = lines.index("1 slower with different values (library.VERSION): test_first")
    assert lines[cause + 1].startswith("  repeat: gnnbench ab 'git:HEAD~1' . -- ")
    assert "gnnbench bisect" not in result.text, "one commit lies between both"
    done = gnnbench("accept", str(project.saved), "--reason", "checks its input", cwd=project.folder)
    assert done.returncode == 0, done.stderr
    assert f"): {TEST}\n" in done.stdout

    result, found = project.run(COMPARE, base={"test_first": 0.9e-3})
    assert result.returncode == 0, result.stdout
    assert project.verdicts() == {"test_first": "accepted", "test_second": "same"}
    assert found["test_first"]["allowed"]["reasons"] == ["checks its input"]
    assert "): checks its input: test_first\n" in result.stdout
    assert "No slowdown beyond what is accepted in 2 benchmarks; 1 accepted, " in result.stdout
