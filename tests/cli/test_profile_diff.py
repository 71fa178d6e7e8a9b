"""`gnnbench profile SELECT --diff A B`: real processes, and times that are drawn."""

import json
import random

import pytest

from gnnbench.cli import profile_diff
from gnnbench.cli.profile_diff import PAIRS, Range
from gnnbench.profile import process
from gnnbench.profile.process import Ended
from gnnbench.profile.turns import Turns
from tests.compare.ab.workers import write
from tests.report import contents
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


@pytest.mark.nightly
def test_two_commits_differ_by_what_changed_between_them(tmp_path, in_process, monkeypatch):
    monkeypatch.setattr(profile_diff, "PAIRS", 1)
    write(tmp_path, SUITE)
    (tmp_path / "kernels.py").write_text(KERNELS)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "older")
    newer = KERNELS.replace("torch.sort(x @ x).values", "x @ x\n\n\nnewer = int")
    (tmp_path / "kernels.py").write_text(newer)
    words = ("test_suite.py", "--with", "phases", "--epochs", "2", "--folder", "profiles")
    found = in_process("profile", *words, "--diff", "git:HEAD", ".")
    assert found.returncode == 2, "a benchmark fails"
    commit = git(tmp_path, "rev-parse", "HEAD")[:10]
    lines = found.stdout.splitlines()
    assert lines[1:4] == [
        "test_suite.py::test_work",
        f"before: git:HEAD ({commit})",
        f"after:  . ({commit}, uncommitted changes)",
    ]
    assert "vanished" in lines[5]
    assert lines[5].endswith("aten::sort in call")
    assert found.stdout.index("times: ") > found.stdout.index("aten::sort"), "counts come first"
    assert "ImportError: cannot import name 'newer'" in found.stderr
    assert "gnnbench: test_suite.py::test_newer: profiled on one side only: after" in found.stderr
    assert found.stderr.count("cannot import name 'newer'") == 1
    assert len(list((tmp_path / "profiles").glob("*/*/profile.json"))) == 3


@pytest.mark.parametrize("kinds", [(), ("phases", "layers")])
def test_times_are_of_several_pairs_whose_failures_alone_are_shown(in_process, monkeypatch, tmp_path, kinds):
    """A kind without times is compared by counts alone, of one pair."""
    asked = []

    def run(sides, wanted, progress):
        asked.append(wanted)
        found = []
        for side in sides:
            place = tmp_path / f"{len(asked)}" / side.name
            place.mkdir(parents=True)
            content = contents.profile("pyg")
            content["sections"] = {name: content["sections"][name] for name in ("counts", *kinds)}
            (place / "profile.json").write_text(json.dumps(content))
            ended = [Ended("test_a", place, {}, None, None)]
            if side.name == "before" and len(asked) > 1:
                ended.append(Ended("test_b", None, {}, "E  it failed", None))
            progress.collected(["a", "b"], [])
            for one in ended:
                progress.benchmark(side, 1, 2, one)
            found.append(ended)
        return found

    monkeypatch.setattr(process, "run", run)
    found = in_process("profile", "pytest", "--diff", ".", "env:A=1", "--", ".")
    assert found.stderr.count("profiling 2 benchmarks: a, b\n") == 1
    assert "counts: no difference" in found.stdout
    assert ("times: no range differs" in found.stdout) == bool(kinds)
    if kinds:
        assert found.returncode == 2
        assert f"from {PAIRS} pairs of processes" in found.stdout.replace("\n", " ")
        assert found.stderr.count("[1/2] before: test_b: failed\nE  it failed\n") == PAIRS - 1
        assert f"timing both alternately: pair {PAIRS} of {PAIRS}" in found.stderr
        assert [one.only for one in asked] == [(), *[["test_a"]] * (PAIRS - 1)]
        assert {tuple(one.kinds) for one in asked[1:]} == {("layers",)}
    else:
        assert found.returncode == 0
        assert len(asked) == 1
        assert "imes" not in found.stdout


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
