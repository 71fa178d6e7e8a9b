"""A different output is named and fails, in `gnnbench ab`, in the gate, and until it is accepted."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.engine.cli.saved import rows
from tests.engine.process.variants.repositories import commit_all, git
from tests.engine.process.workers import machine
from tests.runs import gnnbench

DATA = Path(__file__).parents[2] / "data/cheats"
CLOCK = {"GNNBENCH_FAKE_CLOCK": "5:truths.json"}
"""The time is simulated; what the kernels return is real."""
ID = "test_kernels.py::test_{}"


@pytest.fixture
def project(tmp_path):
    """A repository whose commits `base` and `main` have the kernels of both sides."""
    shutil.copy(DATA / "suite.py", tmp_path / "test_kernels.py")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / ".gitignore").write_text("*.json\n__pycache__\n.benchmarks\nbaselines\n")
    kernels = re.findall(r"def (test_\w+)", (tmp_path / "test_kernels.py").read_text())
    machine(tmp_path / "truths.json", dict.fromkeys(kernels, 1e-3), sigma=0.01, drift=0.02)
    for side in ("base", "head"):
        shutil.copy(DATA / side / "kernels.py", tmp_path)
        commit_all(tmp_path, side)
        git(tmp_path, "tag", side)
    git(tmp_path, "config", "user.name", "Ada")
    git(tmp_path, "config", "user.email", "ada@example.org")
    return tmp_path


def saved(folder, name):
    """Return the rows of a saved result, or of the comparisons in a run file, by id."""
    content = json.loads((folder / name).read_text())
    return rows(content["gnnbench"]["compared"] if "gnnbench" in content else content)


def test_another_result_fails_until_it_is_accepted_with_a_reason(project):
    half, other = ID.format("half_precision"), ID.format("in_place")
    words = ("git:base", ".", "--budget", "3", "--json", "ab.json", "--", half)
    found = gnnbench("ab", *words, other, cwd=project, **CLOCK)
    assert found.returncode == 1, found.stdout
    assert "All 2 benchmarks have a different output" in found.stdout
    row = saved(project, "ab.json")[half]
    assert row["verdict"] == "incomparable"
    assert row["reason"].startswith("a different output: relative error ")
    assert row["ratio"], "its times are shown still"
    refused = gnnbench("accept", "ab.json", "--reason", "it is enough", cwd=project)
    assert refused.returncode == 2
    assert "; --result accepts 2 different outputs" in refused.stderr
    accepted = gnnbench("accept", "ab.json", half, "--result", "--reason", "it is enough", cwd=project)
    assert accepted.returncode == 0, accepted.stderr
    assert "accepted a different output: " in accepted.stdout
    again = gnnbench("ab", *words, cwd=project, **CLOCK)
    (row,) = saved(project, "ab.json").values()
    assert again.returncode in (0, 3), again.stdout
    assert row["verdict"] != "incomparable"
    assert row["results"]["excused"] == "accepted: it is enough"


@pytest.mark.nightly
def test_results_are_left_out_if_the_user_says_so(project):
    words = ("git:base", ".", "--budget", "1", "--no-results", "--json", "ab.json")
    found = gnnbench("ab", *words, "--", ID.format("in_place"), cwd=project, **CLOCK)
    assert found.returncode in (0, 3), found.stdout
    (row,) = saved(project, "ab.json").values()
    assert row["results"] is None


@pytest.mark.nightly
def test_an_assertion_that_fails_is_told_beside_the_other_result(project):
    (project / "test_checked.py").write_text(
        "from checked import value\n\n\ndef test_value(benchmark):\n    assert benchmark(value) == 1.0\n"
    )
    machine(project / "truths.json", {"test_value": 1e-3}, sigma=0.01, drift=0.02)
    for number in (1.0, 1.5):
        (project / "checked.py").write_text(f"def value():\n    return {number}\n")
        commit_all(project, f"returns {number}")
    words = ("git:HEAD^", "git:HEAD", "--budget", "3", "--json", "ab.json", "--", "test_checked.py")
    found = gnnbench("ab", *words, cwd=project, **CLOCK)
    assert found.returncode == 1, found.stdout
    (row,) = saved(project, "ab.json").values()
    assert row["reason"].startswith("a different output: output is 1.5 instead of 1; ")
    fails = "fails in the head, but not in the base: raised: assert 1.5 == 1.0, test_checked.py:5"
    assert row["reason"].endswith(f"; {fails}")
