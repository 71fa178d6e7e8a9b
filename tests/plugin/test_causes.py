"""Real runs with `--benchmark-compare` in which a helper that several benchmarks call became slower."""

import json
import shlex

import pytest

from gnnbench import codec
from gnnbench.results.parts import BenchmarkPart
from tests import slower_helper
from tests.slower_helper import IDS
from tests.suite import run


@pytest.mark.nightly
def test_the_summary_has_each_cause_once_and_each_test_its_own_failure(tmp_path):
    folder = tmp_path / "project"
    slower_helper.make(folder)
    arguments = "--benchmark-compare=git:HEAD~1", f"--benchmark-json={tmp_path / 'run.json'}"
    result = run("tests", *arguments, cwd=folder, **slower_helper.variables(folder))
    assert result.returncode == 1, result.stderr
    lines = result.stdout.splitlines()
    start = lines.index("3 slower through scale: test_scale, test_largest, test_total")
    selection = shlex.join(["-p", "no:cacheprovider", "--gnn-device", "cpu", *IDS])
    assert lines[start + 1 : start + 3] == [
        f"  repeat: gnnbench ab 'git:HEAD~1' . -- {selection}",
        f"  find the commit: gnnbench bisect 'git:HEAD~1' git:HEAD -- {selection}",
    ]
    # The failed test has the command that repeats it.
    alone = lines.index("1 slower through first: test_first")
    assert lines[alone + 1].startswith("  find the commit: gnnbench bisect 'git:HEAD~1' git:HEAD -- ")
    for name in IDS:
        (failure,) = [line for line in lines if line.startswith("slower: ") and name in line]
        assert "code: " in failure
        assert failure.endswith(shlex.join([name]))
    content = json.loads((tmp_path / "run.json").read_text())
    found = {one["name"]: one["extra_info"]["gnnbench"] for one in content["benchmarks"]}
    for ours in found.values():
        codec.decode(ours, BenchmarkPart)
    assert "library:scale" in found["test_total"]["comparison"]["changed"]["functions"]
