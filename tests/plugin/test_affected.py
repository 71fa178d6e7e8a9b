"""`--gnn-affected-by` in real pytest runs of a repository's suite."""

import pytest

from tests.suite import SHORT, run
from tests.variants.repositories import git, without_settings

SUITE = """
import thing

def test_changed(benchmark):
    benchmark(thing.changed, 1)

def test_untouched(benchmark):
    benchmark(thing.untouched, 1)

def test_plain():
    pass
"""
THING = "def changed(x):\n    return x\n\n\ndef untouched(x):\n    return x\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A repository whose working tree changes one of two functions."""
    without_settings(monkeypatch)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "thing.py").write_text(THING)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    (tmp_path / "thing.py").write_text(THING.replace("x\n", "x + 1\n", 1))
    return tmp_path


def passed(result):
    return {line.split()[0].partition("::")[2] for line in result.stdout.splitlines() if " PASSED" in line}


def test_only_affected_benchmarks_and_other_tests_run(folder):
    result = run("--gnn-affected-by", "git:main", "-v", *SHORT, cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "inspecting the benchmarks of git:main and of the working tree" in result.stdout
    assert "1 benchmark runs the same code as git:main and is deselected" in result.stdout
    assert "2 passed, 1 deselected" in result.stdout
    assert passed(result) == {"test_changed", "test_plain"}


def test_workers_of_xdist_get_the_result(folder):
    result = run("--gnn-affected-by=git:main", "-n", "2", "-v", cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("the same code as git:main") == 1
    assert "2 passed" in result.stdout


def test_a_run_without_affected_benchmarks_passes(folder):
    for more in ((), ("-n", "1")):
        result = run("--gnn-affected-by", ".", "-k", "not plain", *more, cwd=folder)
        assert result.returncode == 0, result.stdout + result.stderr
        assert "2 benchmarks run the same code as . and are deselected" in result.stdout
    assert run("--gnn-affected-by", ".", "-k", "no_such_test", cwd=folder).returncode == 5


def test_the_option_in_the_settings_of_a_suite_does_not_reach_the_children(folder):
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --gnn-affected-by git:main\n")
    result = run(*SHORT, cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "2 passed, 1 deselected" in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("git:nowhere",), "gnnbench: --gnn-affected-by: "),
        (("git:nowhere", "-n", "1"), "gnnbench: --gnn-affected-by: "),
        (("hg:tip",), "gnnbench: unknown part of a variant 'hg'"),
        (("",), "gnnbench: variant '' is empty"),
    ],
)
def test_a_wrong_variant_is_one_line(folder, words, message):
    result = run("--gnn-affected-by", *words, cwd=folder)
    assert result.returncode == 4
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith(f"ERROR: {message}")
    assert "Traceback" not in result.stdout
