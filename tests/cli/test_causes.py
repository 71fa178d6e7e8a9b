"""A real command where a helper that several benchmarks call became slower."""

import json
import shlex
import sys

import pytest

from tests import forks, slower_helper, suite
from tests.slower_helper import IDS

PLUGIN = ("-p", "pytest_benchmark.plugin")
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Its processes load the only plugin that they need, and start in half the time."""


@pytest.mark.nightly
def test_slower_benchmarks_that_share_a_function_are_one_alarm(tmp_path):
    project = tmp_path / "project"
    slower_helper.make(project)
    words = ("ab", "git:HEAD~1", ".", "--budget", "600", "--json", "../ab.json", "--", "tests", *PLUGIN)
    result = suite.gnnbench(*words, cwd=project, **ALONE, **slower_helper.variables(project))
    assert result.returncode == 1, result.stderr
    lines = result.stdout.splitlines()
    start = lines.index("3 slower through scale: test_scale, test_largest, test_total")
    selection = shlex.join([*PLUGIN, *IDS])
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
    selected = shlex.split(lines[start + 1].partition(" -- ")[2])
    command = [sys.executable, "-m", "pytest", *selected, "--collect-only", "-q"]
    collected = forks.run(command, project, suite.environment(**ALONE)).stdout
    assert sorted(line for line in collected.splitlines() if "::" in line) == sorted(IDS)

    saved = json.loads((tmp_path / "ab.json").read_text())
    assert saved["repeat"] == {
        "base": "git:HEAD~1",
        "head": ".",
        "ends": ["git:HEAD~1", "git:HEAD"],
        "options": [],
        "pytest": list(PLUGIN),
        "places": ["tests"],
        "rootdir": ".",
    }
