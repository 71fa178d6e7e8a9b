"""Real pytest runs with `--benchmark-compare` that judge in turns, on the simulated machine."""

import json
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gnnbench.results import run_file
from gnnbench.results.baseline import FOLDER, RecordStore
from gnnbench.schema import departure
from tests import terminal
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


class Project:
    """A library and its suite in a git repository, with one record."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder.parent / "cache"

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

    def edit(self, before="VERSION = 1", after="VERSION = 2", file="library.py"):
        path = self.folder / file
        path.write_text(path.read_text().replace(before, after))

    def git(self, *arguments):
        identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=self.folder, check=True, capture_output=True
        )
        return done.stdout.decode().strip()

    def run(self, *arguments, variables=None, **machine):
        """Run pytest; return its result and each benchmark's `comparison`."""
        saved = self.folder.parent / "run.json"
        saved.unlink(missing_ok=True)
        given = {**self.machine(**machine), **(variables or {})}
        result = run("benchmarks", *arguments, f"--benchmark-json={saved}", cwd=self.folder, **given)
        if not saved.exists():
            return result, {}
        content = json.loads(saved.read_text())
        found = {entry["name"]: entry["extra_info"].get("gnnbench", {}) for entry in content["benchmarks"]}
        assert not departure(content["gnnbench"], "run", "file")
        return result, {name: one["comparison"] for name, one in found.items() if "comparison" in one}

    def worktrees(self):
        return self.git("worktree", "list").splitlines()[1:], list(self.cache.rglob("worktrees/gnnbench-*"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "project"
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "baselines").mkdir()
    (folder / "library.py").write_text(LIBRARY)
    (folder / "conftest.py").write_text("")
    (folder / "benchmarks" / "helper.py").write_text("def twice(numbers):\n    return 2 * numbers\n")
    (folder / "benchmarks" / "test_library.py").write_text(SUITE)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "data.txt").write_text("x" * 1_000_000)
    (folder / ".gitignore").write_text("__pycache__\nbaselines\n")
    project = Project(folder)
    project.git("init", "-q", "-b", "main")
    project.git("add", ".")
    project.git("commit", "-qm", "first")
    result = gnnbench("baseline", "record", "--", "benchmarks", cwd=folder, **project.machine())
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture
def project(recorded, tmp_path):
    shutil.copytree(recorded, tmp_path / "project")
    return Project(tmp_path / "project")


def verdicts(found):
    return {name: one["verdict"] for name, one in found.items()}


def test_a_slowdown_is_found_in_turns_and_says_how_to_repeat_it(project):
    commit = project.git("rev-parse", "HEAD").strip()
    project.edit()
    result, found = project.run(COMPARE, base={"test_first": 0.9e-3})
    assert result.returncode == 1, result.stdout
    assert verdicts(found) == {"test_first": "slower", "test_second": "same"}
    assert found["test_first"]["in_turns"]
    assert found["test_first"]["against"] == "0001"
    assert found["test_first"]["ratio"] == pytest.approx(1 / 0.9, rel=0.02)
    assert found["test_second"]["same_code"]
    assert not found["test_second"]["in_turns"]
    assert "gnnbench: since record 0001: 1 changed file in this project" in result.stdout
    assert "timing 1 benchmark in turns with record 0001, for at most 300 s" in result.stdout
    assert "timing again" not in result.stdout
    assert "in the baseline; the simultaneous 99% interval excludes 1; " in result.stdout
    code = "pairs of processes; code: same functions, other values (library.VERSION) [record 0001]; repeat:"
    assert code in result.stdout
    repeat = f"repeat: gnnbench ab git:{commit} . -- -p no:cacheprovider --gnn-device cpu {TEST}\n"
    assert repeat in result.stdout
    assert project.worktrees() == ([], [])


def test_in_a_terminal_lines_are_broken_at_words_and_commands_are_whole(project):
    commit = project.git("rev-parse", "HEAD").strip()
    project.edit()
    machine = project.machine(base={"test_first": 0.9e-3})
    command = pytest_on_cpu("benchmarks", COMPARE, f"--junitxml={project.folder.parent / 'junit.xml'}")
    result = terminal.run(command, project.folder, environment(**machine))
    assert result.returncode == 1, result.stdout
    lines = result.stdout.splitlines()
    (first,) = [number for number, line in enumerate(lines) if "gnnbench ab" in line]
    last = next(number for number in range(first, len(lines)) if not lines[number].endswith("\\"))
    command = " ".join(line.strip().removesuffix("\\").strip() for line in lines[first : last + 1])
    assert command == f"gnnbench ab git:{commit} . -- -p no:cacheprovider --gnn-device cpu {TEST}"
    lines[first : last + 1] = [f"  {command}"]
    repeat = lines[first]
    start = next(number for number, line in enumerate(lines) if line.startswith("slower: 1.1"))
    reason = lines[start : lines.index(repeat) + 1]
    assert max(map(len, reason[:-1])) <= 80
    assert all(line.startswith("  ") for line in reason[1:])
    assert "code: same functions, other values (library.VERSION) [record 0001]; repeat:" in " ".join(
        line.strip() for line in reason
    )
    ours = [line for line in lines if line.startswith(("gnnbench: ", "  ")) and line != repeat]
    assert max(map(len, ours)) <= 80
    (summary,) = [line for line in lines if line.startswith(f"FAILED {TEST}")]
    assert " - slower: 1.1" in summary
    (saved,) = ET.parse(project.folder.parent / "junit.xml").getroot().iter("failure")
    assert saved.get("message") == " ".join(line.strip() for line in reason), "a file has the line whole"


def test_identical_work_is_same_in_turns_and_a_slower_machine_fails_nothing(project):
    project.edit()
    slow = {name: 1.3 * seconds for name, seconds in TIMES.items()}
    result, found = project.run(COMPARE, **slow)
    assert result.returncode == 0, result.stdout
    assert verdicts(found) == {"test_first": "same", "test_second": "same"}
    assert "this machine takes 1.30x the time of record 0001 for the same code" in result.stdout


def test_turns_may_be_left_out(project):
    project.edit()
    result, found = project.run(COMPARE, "--gnn-turns=never", base={"test_first": 0.5e-3})
    assert result.returncode == 0, result.stdout
    assert not found["test_first"]["in_turns"]
    assert "in turns" not in result.stdout


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
    result, _ = project.run("--gnn-dry-run")
    assert result.returncode == 4
    assert "--gnn-dry-run says what --benchmark-compare does: add that option" in result.stderr


def test_without_a_record_a_commit_is_the_base(project):
    shutil.rmtree(project.folder / FOLDER)
    project.edit()
    result, found = project.run(f"{COMPARE}=git:HEAD", base={"test_first": 0.9e-3})
    assert result.returncode == 1, result.stdout
    assert verdicts(found) == {"test_first": "slower", "test_second": "same"}
    assert found["test_first"]["against"] == "git:HEAD"
    assert found["test_second"]["same_code"]
    result, found = project.run(COMPARE)
    assert "or compare with a commit: --benchmark-compare=git:main" in result.stdout
    assert not found
    result, _ = project.run(f"{COMPARE}=git:nowhere")
    assert result.returncode == 4
    assert "--benchmark-compare: git:nowhere names no commit" in result.stderr


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
    assert line.count(" benchmarks/test_library.py::test_") == 2
    command, _, seconds = line.rpartition("=")
    assert command.endswith(" --benchmark-compare=0001 --gnn-budget")
    assert float(seconds) >= 2
    assert " benchmarks " not in line.partition("pytest")[2]
    assert project.run(COMPARE, "--gnn-budget=1", "--gnn-strict")[0].returncode == 1


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


def test_a_version_that_the_index_does_not_have_leaves_the_rule_across_sessions(project):
    store = RecordStore(project.folder / FOLDER)
    for file in store.records()[0].files:
        content = json.loads(file.read_text())
        content["gnnbench"]["sources"]["packages"]["numpy"] = {"version": "0.0.99", "origin": None}
        file.write_text(run_file.seal(content))
    project.edit()
    result, found = project.run(COMPARE, base={"test_first": 0.5e-3})
    assert result.returncode == 0, result.stdout
    assert "since record 0001: 1 changed file in this project, numpy 0.0.99 → " in result.stdout
    assert f"{ONE} pip:numpy==0.0.99: pip cannot install it" in result.stdout
    assert not found["test_first"]["in_turns"]


def test_two_records_with_one_number_are_named(project):
    store = RecordStore(project.folder / FOLDER)
    for file in store.records()[0].files:
        shutil.copy(file, file.with_name(file.name.replace("0001_", "0001_other-")))
    result, found = project.run(f"{COMPARE}=0001")
    assert result.returncode == 4
    assert "'0001' names 2 records" in result.stdout + result.stderr
    assert found == {}
    assert project.run(f"{COMPARE}=0001_other")[0].returncode == 0


def test_on_a_full_disk_the_rule_across_sessions_is_left(project):
    project.edit()
    # Files have at most 500 KiB, so the worktree cannot be written.
    limited = ["bash", "-c", 'ulimit -f 500; exec "$@"', "bash", *pytest_on_cpu("benchmarks", COMPARE)]
    variables = environment(**project.machine())
    result = subprocess.run(
        limited, cwd=project.folder, env=variables, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout
    assert f"{ONE} git:" in result.stdout
    assert "cannot be checked out" in result.stdout
    assert "1 same, 1 undecided" in result.stdout
    assert project.worktrees() == ([], [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
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
    time.sleep(1)
    process.send_signal(number)
    rest = process.stdout.read()
    assert process.wait(60) == 2
    assert "interrupted" in rest
    assert project.worktrees() == ([], [])


def test_without_git_versions_are_built_again_and_changed_functions_are_not(project):
    shutil.rmtree(project.folder / ".git")
    shutil.rmtree(project.folder / FOLDER)
    recorded = gnnbench("baseline", "record", "--", "benchmarks", cwd=project.folder, **project.machine())
    assert recorded.returncode == 0, recorded.stderr
    project.edit("return sorted(numbers)", "return [*sorted(numbers)]")
    result, found = project.run(COMPARE, base={"test_second": 0.5e-3})
    assert result.returncode == 0, result.stdout
    assert f"{ONE} they run other code of library, which is not in git" in result.stdout
    assert found["test_first"]["same_code"]
    assert not found["test_second"]["in_turns"]


def test_a_variant_needs_turns(project):
    result, found = project.run(f"{COMPARE}=git:main", "--gnn-turns=never")
    assert result.returncode == 1
    assert "git:main can be compared in turns only: leave out --gnn-turns never" in result.stdout
    assert found == {}
    result, _ = project.run(f"{COMPARE}=git:main", "-n1")
    assert result.returncode == 0
    assert "no benchmark was judged (-n switches timing off)" in result.stdout


def test_a_changed_definition_is_a_note_in_turns_and_incomparable_across_sessions(project):
    project.edit("[1, 2]", "[1, 2, 3]", "benchmarks/test_library.py")
    result, found = project.run(COMPARE)
    assert result.returncode == 0, result.stdout
    assert found["test_first"]["verdict"] == "same"
    assert "both sides ran today's" in " ".join(found["test_first"]["notes"])
    result, found = project.run(COMPARE, "--gnn-turns=never")
    assert found["test_first"]["verdict"] == "incomparable"
    assert found["test_first"]["reason"].startswith("different definition of the benchmark: hash")


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


def test_another_setting_is_compared_across_sessions(project):
    result, found = project.run(COMPARE, variables={"TORCH_SHOW_CPP_STACKTRACES": "1"})
    assert result.returncode == 0, result.stdout
    said = f"{ONE.replace('1 benchmark', '2 benchmarks')} the saved code cannot be built again"
    assert f"{said}: what differs is no commit, and no version of a package" in result.stdout
    assert not any(one["in_turns"] for one in found.values())


def test_an_accepted_slowdown_fails_no_test_until_the_base_contains_it_and_more_does(project):
    project.git("config", "user.name", "Ada")
    project.git("config", "user.email", "ada@example.org")
    project.edit()
    project.git("commit", "-qam", "slower, as intended")
    head = project.git("rev-parse", "HEAD")
    saved = str(project.folder.parent / "run.json")
    result, found = project.run(COMPARE, base={"test_first": 0.9e-3})
    assert result.returncode == 1, result.stdout
    assert found["test_first"]["base"] == {"commits": [project.git("rev-parse", "HEAD~1")], "dirty": False}
    done = gnnbench("accept", saved, "--reason", "checks its input", cwd=project.folder)
    assert done.returncode == 0, done.stderr
    assert f" to {head[:10]}: {TEST}\n" in done.stdout

    result, found = project.run(COMPARE, base={"test_first": 0.9e-3})
    assert result.returncode == 0, result.stdout
    assert verdicts(found) == {"test_first": "accepted", "test_second": "same"}
    assert found["test_first"]["accepted"]["reasons"] == ["checks its input"]
    assert "): checks its input: test_first\n" in result.stdout
    assert "0 slower, 1 accepted, 0 faster, 1 same" in result.stdout

    project.edit("VERSION = 2", "VERSION = 3")
    result, found = project.run(COMPARE, base={"test_first": 0.75e-3})
    assert result.returncode == 1, result.stdout
    assert verdicts(found)["test_first"] == "slower"
    assert " beyond the accepted 1.11x: checks its input; code: " in result.stdout
    dirty = gnnbench("accept", saved, "--reason", "more", cwd=project.folder)
    assert dirty.returncode == 2
    assert "the head had uncommitted changes, which no commit contains" in dirty.stderr

    result, found = project.run(f"{COMPARE}=git:HEAD", base={"test_first": 0.9e-3})
    assert result.returncode == 1, result.stdout
    assert (
        f"gnnbench: ended, because the base already contains what was accepted: entry 1 ({TEST})"
        in result.stdout
    )

    project.edit("VERSION = 3", "VERSION = 1")
    result, found = project.run(COMPARE)
    assert result.returncode == 0, result.stdout
    assert f"gnnbench: {TEST} is not as slow as accepted any more (it runs the same code" in result.stdout


def test_a_wrong_file_of_accepted_slowdowns_ends_the_session_before_anything_is_timed(project):
    (project.folder / "baselines" / "accepted.toml").write_text("[[accepted]]\nbenchmark = 1\n")
    result, _ = project.run(COMPARE)
    assert result.returncode == 4
    assert "accepted.toml: entry 1: benchmark = 1 must be the id of a test" in result.stdout + result.stderr
    assert " passed" not in result.stdout
