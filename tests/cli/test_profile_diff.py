"""`gnnbench profile SELECT --diff A B`: real processes, and times that are drawn."""

import random

import pytest

from gnnbench.cli import profile_diff
from gnnbench.cli.profile_diff import PAIRS, Range
from gnnbench.profile.turns import Turns
from tests.compare.ab.workers import write
from tests.variants.repositories import git

SUITE = """
import torch
from kernels import work


def test_work(benchmark):
    benchmark(work, torch.ones(4, 4))


def test_newer(benchmark):
    from kernels import newer

    benchmark(newer)
"""
KERNELS = """
import torch


def work(x):
    return torch.sort(x @ x).values
"""


@pytest.fixture
def compare(in_process, monkeypatch):
    """Run the command with two pairs of processes; return its exit code and what it printed."""
    monkeypatch.setattr(profile_diff, "PAIRS", 2)

    def compare(*words):
        found = in_process("profile", "test_suite.py", *words, "--folder", "profiles")
        return found.returncode, found.stdout, found.stderr

    return compare


def test_two_commits_differ_by_what_changed_between_them(tmp_path, compare):
    write(tmp_path, SUITE)
    (tmp_path / "kernels.py").write_text(KERNELS)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "older")
    newer = KERNELS.replace("torch.sort(x @ x).values", "x @ x\n\n\nnewer = int")
    (tmp_path / "kernels.py").write_text(newer)
    status, output, errors = compare("--with", "phases", "--epochs", "2", "--diff", "git:HEAD", ".")
    assert status == 2, "a benchmark fails"
    commit = git(tmp_path, "rev-parse", "HEAD")[:10]
    lines = output.splitlines()
    assert lines[1:4] == [
        "test_suite.py::test_work",
        f"before: git:HEAD ({commit})",
        f"after:  . ({commit}, uncommitted changes)",
    ]
    assert "vanished" in lines[5]
    assert lines[5].endswith("aten::sort in call")
    place = output.index("times: ") if "times: " in output else output.index("Ratio")
    assert place > output.index("aten::sort"), "counts come first"
    assert "2 pairs of processes" in output
    assert "ImportError: cannot import name 'newer'" in errors
    assert "gnnbench: test_suite.py::test_newer: profiled on one side only: after" in errors
    assert errors.count("cannot import name 'newer'") == 1
    assert len(list((tmp_path / "profiles").glob("*/*/profile.json"))) == 3


def test_a_kind_without_times_is_compared_by_counts_alone(tmp_path, compare):
    write(tmp_path, "def test_int(benchmark):\n    benchmark(int)\n")
    status, output, errors = compare("--with", "functions", "--diff", ".", "env:A=1")
    assert status == 0, errors
    assert "counts: no difference" in output
    assert "imes" not in output
    assert "pair" not in errors


def drawn(seed, ranges, factor=1.0):
    """Return the times of some ranges in PAIRS pairs; of the first the second side's are longer.

    Processes differ by some percent, calls by more, and now and then one is interrupted.
    """
    rng = random.Random(seed)

    def calls(nanoseconds):
        mean = nanoseconds * rng.lognormvariate(0, 0.03)
        noise = (rng.lognormvariate(0, 0.05) + (rng.random() < 0.1) * rng.expovariate(0.2) for _ in range(20))
        return tuple(round(mean * one) for one in noise)

    found = {}
    for number in range(ranges):
        slower = factor if not number else 1.0
        pairs = [Turns(calls(1e6), calls(1e6 * slower), 0.1) for _ in range(PAIRS)]
        found[Range("test_a", ("call", f"range {number}"))] = pairs
    return found


def changed(times):
    found = profile_diff._judged(times)
    return [name.path[-1] for name, one in found.items() if one.verdict in ("slower", "faster")]


def test_identical_code_has_no_changed_range():
    assert [changed(drawn(seed, 15)) for seed in range(20)].count([]) >= 19


def test_the_range_that_takes_longer_is_the_one_that_changed():
    times = drawn(1, 15, factor=1.5)
    assert changed(times) == ["range 0"]
    judgements = profile_diff._judged(times)
    head, row = profile_diff._table("test_a", times, judgements).splitlines()
    assert head.split() == ["Time", "Before", "After", "Ratio", "Interval", "What"]
    assert row.startswith("slower ")
    assert row.endswith("range 0 in call")
    assert max(len(head), len(row)) <= 80
    assert profile_diff._table("test_b", times, judgements).startswith("times: no range differs")
    note = profile_diff._note(judgements)
    assert "15 ranges of at least 1.0% of a call compared" in note.replace("\n", " ")
    assert max(map(len, note.splitlines())) <= 80
