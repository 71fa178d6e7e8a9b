"""Real commands where a helper that several benchmarks call became slower."""

import json
import shlex

import pytest

from gnnbench.schema import departure
from tests import slower_helper
from tests.slower_helper import IDS
from tests.suite import gnnbench


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("causes") / "project"
    slower_helper.make(folder)
    return folder


def run(folder, *words):
    # Its processes load the only plugin that they need, and start in half the time.
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return gnnbench(*words, cwd=folder, **alone, **slower_helper.variables(folder))


@pytest.fixture(scope="module")
def result(project):
    """The output of `gnnbench ab`; its files are beside the project."""
    files = ("--json", "../ab.json", "--markdown", "../ab.md")
    done = run(
        project,
        "ab",
        "git:HEAD~1",
        ".",
        "--budget",
        "20",
        *files,
        "--",
        "tests",
        "-p",
        "pytest_benchmark.plugin",
    )
    assert done.returncode == 1, done.stderr
    return done.stdout


def test_slower_benchmarks_that_share_a_function_are_one_alarm(result):
    lines = result.splitlines()
    start = lines.index("3 slower through scale: test_scale, test_largest, test_total")
    selection = shlex.join(["-p", "pytest_benchmark.plugin", *IDS])
    first = "-p pytest_benchmark.plugin tests/test_library.py::test_first"
    assert lines[start + 1 : start + 6] == [
        f"  repeat: gnnbench ab 'git:HEAD~1' . -- {selection}",
        f"  find the commit: gnnbench bisect 'git:HEAD~1' git:HEAD -- {selection}",
        "1 slower through first: test_first",
        f"  repeat: gnnbench ab 'git:HEAD~1' . -- {first}",
        f"  find the commit: gnnbench bisect 'git:HEAD~1' git:HEAD -- {first}",
    ]
    assert not any(line.startswith("code: ") for line in lines), "the causes say it"
    assert "4 slower, 0 faster, 1 same" in lines[-1]


def test_the_command_repeats_exactly_these(project, result):
    command = next(line for line in result.splitlines() if line.startswith("  repeat: "))
    _, _, subcommand, base, head, *arguments = shlex.split(command)
    done = run(project, subcommand, base, head, "--budget", "20", *arguments)
    assert done.returncode == 1, done.stderr
    assert "3 slower, 0 faster, 0 same, 0 undecided" in done.stdout


@pytest.mark.usefixtures("result")
def test_saved_results_keep_how_they_were_made(project):
    content = json.loads((project.parent / "ab.json").read_text())
    assert departure(content, "ab") is None
    assert content["repeat"] == {
        "base": "git:HEAD~1",
        "head": ".",
        "ends": ["git:HEAD~1", "git:HEAD"],
        "options": [],
        "pytest": ["-p", "pytest_benchmark.plugin"],
        "places": ["tests"],
        "rootdir": ".",
    }
