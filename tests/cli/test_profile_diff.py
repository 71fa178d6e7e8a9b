"""`gnnbench profile SELECT --diff A B`: real processes, and times that are drawn."""

import argparse
import random
import shutil
import subprocess

import pytest

from gnnbench.cli import profile, profile_diff
from gnnbench.cli.profile_diff import PAIRS, Range
from gnnbench.profile.turns import Turns
from tests.suite import ROOT, environment

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
OLD = "17be8fe~1"
"""A commit of this repository without modules that this code imports."""


def git(folder, *words):
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    found = subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True, text=True)
    return found.stdout.strip()


@pytest.fixture
def compare(tmp_path, monkeypatch, capsys):
    """Run the command in a folder; return its exit code and what it printed."""
    for name, value in environment(GNNBENCH_CACHE=str(tmp_path / "cache")).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # which it sets

    def compare(folder, *words, pairs=1):
        monkeypatch.setattr(profile_diff, "PAIRS", pairs)
        monkeypatch.chdir(folder)
        parser = argparse.ArgumentParser()
        profile.add_arguments(parser)
        options = parser.parse_args([*words, "--folder", str(tmp_path / "profiles")])
        options.rest = []
        status = profile_diff.run(profile.Session(options), options.diff)
        return status, *capsys.readouterr()

    return compare


def test_two_commits_differ_by_what_changed_between_them(tmp_path, compare):
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "test_suite.py").write_text(SUITE)
    (suite / "kernels.py").write_text(KERNELS)
    git(suite, "init", "-q")
    git(suite, "add", "-A")
    git(suite, "commit", "-qm", "older")
    (suite / "kernels.py").write_text(KERNELS.replace("torch.sort(x @ x).values", "x @ x\n\n\nnewer = int"))
    words = ("test_suite.py", "--with", "phases", "--epochs", "2", "--diff", "git:HEAD", ".")
    status, output, errors = compare(suite, *words, pairs=2)
    assert status == 2, "a benchmark fails"
    commit = git(suite, "rev-parse", "HEAD")[:10]
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
    (tmp_path / "test_suite.py").write_text("def test_int(benchmark):\n    benchmark(int)\n")
    words = ("test_suite.py", "--with", "functions", "--diff", ".", "env:A=1")
    status, output, errors = compare(tmp_path, *words, pairs=2)
    assert status == 0
    assert "counts: no difference" in output
    assert "imes" not in output
    assert "pair" not in errors


def test_a_version_without_modules_that_this_one_has(tmp_path, compare):
    """Both sides are profiled by this code, whichever gnnbench the suite imports."""
    try:
        commit = git(ROOT, "rev-parse", "--verify", "--quiet", f"{OLD}^{{commit}}")
    except subprocess.CalledProcessError:
        pytest.skip("needs the history of this repository: the clone is shallow")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--shared", "--no-checkout", str(ROOT), str(clone))
    git(clone, "checkout", "-q", commit)
    (clone / "conftest.py").unlink()  # which needs the package of its time
    shutil.rmtree(clone / "gnnbench")
    shutil.copytree(ROOT / "gnnbench", clone / "gnnbench", ignore=shutil.ignore_patterns("__pycache__"))
    words = ("examples/ab/test_pyg.py::test_gcn_norm", "--with", "phases", "--epochs", "2")
    status, output, errors = compare(clone, *words, "--diff", "git:HEAD", ".")
    assert status == 0, errors
    assert f"before: git:HEAD ({commit[:10]})" in output
    assert "counts: no difference" in output


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
