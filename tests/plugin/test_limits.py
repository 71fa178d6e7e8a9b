"""Real pytest runs of projects with settings of their own, on the simulated machine."""

import json
import re
import sys

import pytest

from tests.suite import run, run_kernels

SUITE = """
import pytest

@pytest.mark.parametrize("n", [1, 2])
def test_sum(benchmark, n):
    benchmark(sum, [n])

def test_plain():
    pass
"""
QUIET = {"sigma": 0.01, "drift": 0, "spike_probability": 0, "process_sigma": 0}


class Project:
    def __init__(self, folder):
        self.folder = folder
        (folder / "test_suite.py").write_text(SUITE)
        (folder / "pytest.ini").write_text("[pytest]\n")
        times = {"test_sum[1]": 1e-3, "test_sum[2]": 8e-3}
        (folder / "truth.json").write_text(json.dumps({"benchmarks": times, "noise": QUIET}))

    def set(self, text):
        (self.folder / "gnnbench.toml").write_text(text)

    def run(self, *arguments):
        """Run pytest, and return its result and what its run file says."""
        saved = self.folder / "run.json"
        clock = f"3:{self.folder / 'truth.json'}"
        result = run(f"--benchmark-json={saved}", *arguments, cwd=self.folder, GNNBENCH_FAKE_CLOCK=clock)
        return result, json.loads(saved.read_text()) if saved.exists() else None


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_time_above_max_time_fails_a_plain_run(project):
    project.set('[[rules]]\nbenchmarks = "*test_sum*"\nmax_time = "5 ms"\n')
    result, saved = project.run("--gnn-layouts", "sample")
    assert result.returncode == 1
    assert "1 failed, 2 passed" in result.stdout
    lines = [line for line in result.stdout.splitlines() if "above max_time = 5.00 ms" in line]
    assert lines[0].startswith("7.9")  # the first decile of times about 8 ms
    assert lines[0].endswith("(rule 1 of gnnbench.toml)")
    assert lines[1].startswith("FAILED test_suite.py::test_sum[2]")
    rule = {"number": 1, "benchmarks": "*test_sum*", "max_time_seconds": 0.005}
    assert saved["gnnbench"]["settings"] == {"file": "gnnbench.toml", "defaults": {}, "rules": [rule]}
    assert len(saved["benchmarks"]) == 2


def test_the_last_rule_that_matches_wins(project):
    project.set(
        '[[rules]]\nbenchmarks = "*"\nmax_time = "1 ns"\n'
        '[[rules]]\nbenchmarks = "test_suite.py::test_sum[2]"\nmax_time = "9 ms"\n'
    )
    result, _ = project.run("--gnn-layouts", "sample")
    assert "FAILED test_suite.py::test_sum[1]" in result.stdout
    assert "FAILED test_suite.py::test_sum[2]" not in result.stdout


def test_the_median_of_what_pytest_benchmark_times_itself(project):
    """Its clock is the real one here, and no call takes less than a nanosecond."""
    project.set(
        '[[rules]]\nbenchmarks = "*[2]"\nmax_time = "1 s"\n'
        '[[rules]]\nbenchmarks = "*[1]"\nmax_time = "1 ns"\n'
    )
    result, _ = project.run("--benchmark-max-time=0.01")
    assert "1 failed, 2 passed" in result.stdout
    assert "above max_time = 1.00 ns (rule 2 of gnnbench.toml)" in result.stdout


def test_an_ignored_benchmark_never_fails(project):
    project.set(
        '[[rules]]\nbenchmarks = "*"\nmax_time = "1 ns"\n'
        '[[rules]]\nbenchmarks = "*"\nignore = "not yet tuned"\n'
    )
    result, _ = project.run("--gnn-layouts", "sample")
    assert result.returncode == 0, result.stdout


def test_an_expired_rule_is_named_once_and_does_not_apply(project):
    project.set('[[rules]]\nbenchmarks = "*"\nmax_time = "1 ns"\nuntil = 2020-01-31\n')
    result, _ = project.run("--gnn-layouts", "sample")
    assert result.returncode == 0, result.stdout
    line = "gnnbench: rule 1 of gnnbench.toml (*) expired on 2020-01-31: remove it, or set a later day"
    assert result.stdout.splitlines().count(line) == 1
    result, _ = project.run("-k", "plain")
    assert "expired on" not in result.stdout


def test_a_rule_that_matches_nothing_is_named_where_the_whole_suite_is_collected(project):
    project.set(
        '[[rules]]\nbenchmarks = "*test_sun*"\nmax_time = "1 s"\n'
        '[[rules]]\nbenchmarks = "*test_sum*"\nmax_time = "1 s"\n'
        '[[rules]]\nbenchmarks = "*test_sam*"\nmax_time = "1 s"\nuntil = 2020-01-31\n'
    )
    line = (
        "gnnbench: rule 1 of gnnbench.toml (*test_sun*) matches no benchmark here: "
        "correct its pattern, unless it is for another machine"
    )
    result, _ = project.run()
    assert result.stdout.splitlines().count(line) == 1
    assert result.stdout.count("matches no benchmark") == 1
    for part in (("-k", "sum"), ("test_suite.py::test_sum[1]",), ("test_suite.py",), ("--gnn-hidden", "16")):
        result, _ = project.run(*part)
        assert result.returncode == 0, result.stdout
        assert "matches no benchmark" not in result.stdout
    (project.folder / "test_other.py").write_text("import pytest\npytest.importorskip('nowhere')\n")
    result, _ = project.run()
    assert "matches no benchmark" not in result.stdout


def test_defaults_of_options_and_the_command_line_above_them(project):
    project.set('layouts = "one"\nprecision = "5%"\n')
    result, saved = project.run()
    assert result.returncode == 0
    measured = saved["benchmarks"][0]["extra_info"]["gnnbench"]["measurement"]
    assert measured["in_place"] == "--gnn-layouts one"
    _, saved = project.run("--gnn-layouts=sample")
    assert saved["benchmarks"][0]["extra_info"]["gnnbench"]["measurement"]["in_place"] != "--gnn-layouts one"
    _, saved = project.run("--gnn-layouts=off")
    assert "gnnbench" not in saved["benchmarks"][0]["extra_info"]


def test_a_process_that_gnnbench_starts_takes_the_defaults_that_it_passes_on_and_no_file(project):
    project.set("not valid")
    passed = {"layouts": "one", "precision": "5%", "of_a_later_version": 3}
    result = run(
        "--benchmark-json=run.json",
        cwd=project.folder,
        GNNBENCH_FAKE_CLOCK=f"3:{project.folder / 'truth.json'}",
        GNNBENCH_DEFAULTS=json.dumps(passed),
    )
    assert result.returncode == 0, result.stdout
    saved = json.loads((project.folder / "run.json").read_text())
    measured = saved["benchmarks"][0]["extra_info"]["gnnbench"]["measurement"]
    assert measured["in_place"] == "--gnn-layouts one"


def test_a_flag_of_the_file_is_switched_off_on_the_command_line(project):
    project.set("strict = true\n")
    failed, _ = project.run("--benchmark-compare")
    passed, _ = project.run("--benchmark-compare", "--no-gnn-strict")
    assert "there are no timings of this machine" in failed.stdout
    assert failed.returncode == 1
    assert passed.returncode == 0


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("effect = ", "gnnbench.toml is not valid TOML: Invalid value (at end of document); correct it"),
        ("efect = 0.1", "gnnbench.toml: unknown key 'efect': did you mean effect"),
        (
            "json = 'x'",
            "gnnbench.toml: json belongs to one run: give it on the command line, and remove it here",
        ),
        ("strict = 1", "gnnbench.toml: strict = 1 must be true or false"),
        ("data = 'nowhere'", "nowhere does not exist; give another one (option, or GNNBENCH_DATA), or none"),
        (
            "[[rules]]\nbenchmarks = '*'\nmax_time = 5",
            'gnnbench.toml: rule 1: max_time = 5 must be a time with its unit, as in "5 ms"',
        ),
    ],
)
def test_wrong_settings_end_pytest_in_one_line(project, content, expected):
    project.set(content)
    result, _ = project.run()
    assert result.returncode == 4
    (line,) = filter(None, result.stderr.splitlines())
    assert line.startswith(f"ERROR: gnnbench: {project.folder}")
    assert expected in line


def test_the_table_of_pyproject_chooses_the_graphs_of_gnnbench_s_own_benchmarks(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\n[tool.gnnbench]\ndataset = ["rmat:5"]\nhidden = 8\nplatform = "torch"\n'
    )
    (tmp_path / "test_spmm.py").write_text(
        "import pytest\n\n@pytest.mark.operations('spmm_sum')\n"
        "def test_spmm(benchmark, measure):\n    measure()\n"
    )
    result = run_kernels("--collect-only", "-q", cwd=tmp_path)
    names = [line for line in result.stdout.splitlines() if "::" in line]
    assert names, result.stdout
    assert all("torch" in name and "rmat:5-8-cpu" in name for name in names)
    result = run_kernels("--collect-only", "-q", "--gnn-hidden=16", cwd=tmp_path)
    assert "rmat:5-16-cpu" in result.stdout
    assert "rmat:5-8-cpu" not in result.stdout


def test_a_limit_fails_a_run_that_compares(project):
    project.set('[[rules]]\nbenchmarks = "*[2]"\nmax_time = "5 ms"\n')
    (project.folder / "baselines").mkdir()
    result, saved = project.run("--benchmark-compare")
    assert result.returncode == 1
    assert "1 failed, 2 passed" in result.stdout
    assert "above max_time = 5.00 ms (rule 1 of gnnbench.toml)" in result.stdout
    assert len(saved["benchmarks"]) == 2


WEIGHTS = """
import torch

X = torch.ones(2**20)  # 4 MiB

def test_tensors(benchmark):
    benchmark(lambda x: (x + x) + (x + x), X)

def test_bytes(benchmark):
    benchmark(bytearray, 2**24)

def test_pedantic(benchmark):
    benchmark.pedantic(bytearray, (2**24,))
"""
SHORT = ("--benchmark-max-time=0.001", "--benchmark-min-rounds=1")
FIXED = "test_pedantic: max_memory (rule 1 of gnnbench.toml) not checked: benchmark.pedantic fixes its calls"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the resident set")
@pytest.mark.parametrize("timing", [("--gnn-layouts", "sample"), ()], ids=["gnnbench", "pytest-benchmark"])
def test_memory_above_max_memory_fails_whoever_times_it(tmp_path, timing):
    (tmp_path / "test_suite.py").write_text(WEIGHTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    rule = '[[rules]]\nbenchmarks = "{}"\nmax_memory = "{}"\n'
    (tmp_path / "gnnbench.toml").write_text(rule.format("*", "10 MiB"))
    result = run_kernels(*timing, *SHORT, cwd=tmp_path)
    assert result.returncode == 1
    assert "2 failed, 1 passed" in result.stdout
    tensors = "12.0 MiB beside the inputs, 20% above max_memory = 10.0 MiB (rule 1 of gnnbench.toml)"
    assert tensors in result.stdout
    assert re.search(
        r"^resident set: \+1\d\.\d MiB, \d\d% above max_memory = 10\.0 MiB \(rule 1",
        result.stdout,
        re.MULTILINE,
    )
    assert FIXED in " ".join(result.stdout.split())
    rules = (rule.format("*tensors", "12 MiB"), rule.format("*bytes", "20 MiB"))
    (tmp_path / "gnnbench.toml").write_text("".join(rules))
    result = run_kernels(*timing, *SHORT, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    assert "not checked" not in result.stdout
