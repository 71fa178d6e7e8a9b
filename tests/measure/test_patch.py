"""Real runs of pytest with our timing in the place of pytest-benchmark's."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from gnnbench import codec
from gnnbench.errors import UsageError
from gnnbench.measure.patch import check_pytest_benchmark
from gnnbench.results.parts import BenchmarkPart
from tests import forks
from tests.suite import SHORT, SMALL, environment, pytest_on_cpu, run_kernels

SUITE = """
import itertools
import sys
import pytest
import torch

x = torch.ones(100)

def test_plain(benchmark):
    assert benchmark(torch.neg, x).sum() == -100
    assert benchmark.stats.stats.rounds > 4
    benchmark.extra_info["mine"] = 1

def test_pedantic(benchmark):
    assert benchmark.pedantic(torch.neg, (x,), rounds=7).sum() == -100

def test_no_tensors(benchmark):
    assert benchmark(len, [1, 2]) == 2

@pytest.mark.in_place("it has to be")
def test_in_place(benchmark):
    benchmark(torch.neg, x)

@pytest.mark.in_place
def test_in_place_without_a_reason(benchmark):
    benchmark(torch.neg, x)

@pytest.mark.in_place(reason="by name")
def test_in_place_by_name(benchmark):
    benchmark(torch.neg, x)

def test_captured(benchmark):
    y = torch.ones(3)
    benchmark(lambda: y + 1)

@pytest.mark.benchmark(group="mine", max_time=0.01, min_rounds=3)
class TestClass:
    def test_marked(self, benchmark):
        benchmark(torch.add, x, other=x)

@pytest.mark.whole_call("it starts a process")
@pytest.mark.benchmark(min_rounds=3)
def test_whole(benchmark):
    places, calls = set(), itertools.count(1)
    def call(y):
        assert not sys.getprofile()
        places.add(y.data_ptr())
        return next(calls)
    benchmark.extra_info["calls"] = benchmark(call, x)
    assert places == {x.data_ptr()}

@pytest.fixture
def timed(benchmark):
    return benchmark(torch.neg, x)

def test_in_a_fixture(timed):
    assert timed.sum() == -100
"""

INSPECTED = """
import sys
import pytest

inspected = set()

def work(numbers, name=None, fails=False):
    if sys.getprofile():
        inspected.add(name)
        if fails:
            raise ValueError("not while it is inspected")
    return sum(numbers)

def test_plain(benchmark):
    assert benchmark(work, [1, 2], "plain") == 3

def test_pedantic(benchmark):
    assert benchmark.pedantic(work, ([1, 2], "pedantic"), rounds=7) == 3

def test_fails(benchmark):
    assert benchmark(work, [1, 2], "fails", fails=True) == 3

@pytest.mark.whole_call
def test_whole(benchmark):
    assert benchmark(work, [1, 2], "whole") == 3

def test_in_the_end():
    assert "torch" not in sys.modules
    print("inspected:", *sorted(inspected))
"""

FAILING = """
import itertools
import os
import signal
import torch

def test_text():
    assert "expected" in "CUDA out of memory"

def test_error():
    raise MemoryError("a bug")

def test_raises(benchmark):
    calls = itertools.count()
    def fails(x):
        if next(calls) == 40:
            raise ValueError("enough")
    benchmark(fails, torch.ones(3))

def test_out_of_memory(benchmark):
    calls = itertools.count()
    benchmark(lambda x: torch.empty(2**50) if next(calls) == 40 else None, torch.ones(3))

def test_good(benchmark):
    benchmark(torch.neg, torch.ones(3))

def test_says_so(benchmark):
    assert str(benchmark(torch.neg, torch.ones(3))) == "out of memory"

def test_interrupted(benchmark):
    calls = itertools.count()
    benchmark(lambda x: os.kill(os.getpid(), signal.SIGINT) if next(calls) == 40 else None, torch.ones(3))

def test_never_reached(benchmark):
    benchmark(torch.neg, torch.ones(3))
"""

QUIET = {"sigma": 0.02, "drift": 0, "spike_probability": 0}


@pytest.fixture
def truth(tmp_path):
    """Write the file of a fake clock, and return the variable's value."""

    def write(benchmarks, noise=QUIET, seed=1):
        file = tmp_path / "truth.json"
        file.write_text(json.dumps({"benchmarks": benchmarks, "noise": noise}))
        return f"{seed}:{file}"

    return write


def measure(folder, suite, *options, **changes):
    """Run a suite, where torch is imported already if it needs it."""
    (folder / "test_suite.py").write_text(suite)
    file = folder / "run.json"
    command = pytest_on_cpu(f"--benchmark-json={file}", *options)
    result = forks.run(command, folder, environment(**changes), libraries="import torch" in suite)
    content = json.loads(file.read_text()) if file.exists() and file.stat().st_size else {}
    return result, content


def unfolded(text):
    return " ".join(text.split())


def measurements(content):
    return {
        entry["name"]: entry["extra_info"].get("gnnbench", {}).get("measurement")
        for entry in content["benchmarks"]
    }


def test_any_benchmark_is_timed_on_sampled_layouts_where_that_is_asked_for(tmp_path, truth):
    in_place = ("in_place", "in_place_without_a_reason", "in_place_by_name", "captured")
    names = ("plain", "pedantic", "no_tensors", *in_place, "marked", "whole", "in_a_fixture")
    fake = truth({f"test_{name}": 1e-3 for name in names})
    result, content = measure(
        tmp_path, SUITE, "--gnn-layouts", "sample", "--gnn-precision", "1%", GNNBENCH_FAKE_CLOCK=fake
    )
    assert result.returncode == 0, result.stdout + result.stderr
    found = measurements(content)
    assert {name: entry["layouts"] for name, entry in found.items()} == {
        "test_plain": "sampled",
        "test_pedantic": "one",
        "test_no_tensors": "one",
        **{f"test_{name}": "one" for name in in_place},
        "test_marked": "sampled",
        "test_whole": "one",
        "test_in_a_fixture": "sampled",
    }
    assert [found[f"test_{name}"]["in_place"] for name in in_place] == [
        "it has to be",
        "marked in_place",
        "by name",
        "cannot copy tensors that <lambda> captured",
    ]
    assert re.search(r"^ +[\d.]+ [mµ]s +[\d.]+% test_suite.py::test_plain$", result.stdout, re.MULTILINE)
    note = "timed in one place of memory, others may differ: it has to be: test_suite.py::test_in_place"
    assert f"gnnbench: {note}\n" in result.stdout
    whole = "only timed, so ops, peak and sync are empty: it starts a process"
    assert f"gnnbench: {whole}: test_suite.py::test_whole" in unfolded(result.stdout)
    assert found["test_whole"]["whole_call"] == found["test_whole"]["in_place"] == "it starts a process"
    assert found["test_whole"]["iterations"] == 1
    calls = found["test_whole"]["processes"][0]["blocks_ns"]
    assert {len(block) for block in calls} == {1}
    entry = next(one for one in content["benchmarks"] if one["name"] == "test_whole")
    assert entry["extra_info"]["calls"] == len(calls) + 1  # one untimed call before, and none afterwards
    assert "OMP_WAIT_POLICY is unset: idle OpenMP threads use CPU time" in result.stdout
    assert found["test_plain"]["stopped_by"] == "precision"
    assert found["test_pedantic"]["stopped_by"] == "rounds"
    assert found["test_marked"]["stopped_by"] == "time"
    assert all(entry["clock"] == "fake" for entry in found.values())
    assert found["test_plain"]["location_ns"] == pytest.approx(1e6, rel=0.05)
    plain = next(entry for entry in content["benchmarks"] if entry["name"] == "test_plain")
    assert plain["extra_info"]["mine"] == 1
    rounds = [value for block in found["test_plain"]["processes"][0]["blocks_ns"] for value in block]
    assert plain["stats"]["rounds"] == len(rounds)
    assert plain["stats"]["data"] == pytest.approx([value / 1e9 for value in rounds])


def test_layouts_off_leaves_our_own_benchmarks_to_pytest_benchmark(tmp_path):
    file = tmp_path / "run.json"
    options = (*SMALL, "-k", "spmm_sum-forward_backward-torch")
    result = run_kernels("benchmarks", *options, *SHORT, "--gnn-layouts=off", f"--benchmark-json={file}")
    assert result.returncode == 0, result.stdout
    assert set(measurements(json.loads(file.read_text())).values()) == {None}


def test_what_is_timed_is_inspected_afterwards_without_torch(tmp_path, truth):
    fake = truth({f"test_{name}": 1e-3 for name in ("plain", "pedantic", "fails", "whole")})
    result, content = measure(tmp_path, INSPECTED, "-s", "--gnn-layouts=sample", GNNBENCH_FAKE_CLOCK=fake)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "inspected: fails plain" in result.stdout
    found = {entry["name"]: entry["extra_info"]["gnnbench"] for entry in content["benchmarks"]}
    weighed = [name for name, ours in found.items() if ours.pop("resident_growth_bytes", None) is not None]
    assert weighed == (["test_plain", "test_fails"] if sys.platform == "linux" else [])
    assert {name: sorted(ours) for name, ours in found.items()} == {
        "test_plain": ["definition_hash", "fingerprint", "measurement", "version"],
        "test_pedantic": ["definition_hash", "measurement", "no_fingerprint", "version"],
        "test_fails": ["definition_hash", "measurement", "no_fingerprint", "version"],
        "test_whole": ["definition_hash", "measurement", "no_fingerprint", "version"],
    }
    assert found["test_pedantic"]["no_fingerprint"] == "benchmark.pedantic fixes the calls"
    assert found["test_fails"]["no_fingerprint"] == "it cannot be inspected (ValueError)"
    assert found["test_whole"]["no_fingerprint"] == "its calls are timed whole: marked whole_call"
    assert list(found["test_plain"]["fingerprint"]["functions"]) == ["test_suite:work"]
    for ours in found.values():
        codec.decode(ours, BenchmarkPart)


@pytest.mark.parametrize("option", ["--gnn-layouts=off", "--benchmark-disable"])
def test_what_is_not_timed_is_not_inspected(tmp_path, option):
    result, content = measure(tmp_path, INSPECTED, "-s", "--benchmark-max-time=0.01", option)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "inspected:\n" in result.stdout
    assert all("gnnbench" not in entry["extra_info"] for entry in content.get("benchmarks", ()))


@pytest.mark.nightly
def test_what_was_measured_before_an_error_or_an_interruption_is_saved(tmp_path, truth):
    """And a stranger's failure stays one, whatever it says."""
    fake = truth(dict.fromkeys(re.findall("test_\\w+", FAILING), 1e-3))
    result, content = measure(tmp_path, FAILING, "--gnn-layouts=sample", GNNBENCH_FAKE_CLOCK=fake)
    assert result.returncode == pytest.ExitCode.INTERRUPTED, result.stdout + result.stderr
    assert list(measurements(content)) == ["test_good", "test_says_so"]
    assert "5 failed, 1 passed" in result.stdout
    incomplete = {entry["fullname"].partition("::")[2]: entry for entry in content["gnnbench"]["incomplete"]}
    assert incomplete["test_raises"]["error"] == "ValueError: enough"
    assert incomplete["test_interrupted"]["error"].startswith("KeyboardInterrupt")
    assert incomplete["test_out_of_memory"]["error"] == "OOM at 4194304 GiB"
    for entry in incomplete.values():
        assert entry["measurement"]["stopped_by"] is None
        assert sum(map(len, entry["measurement"]["processes"][0]["blocks_ns"])) > 4
    only = FAILING.partition("def test_good")[0]
    result, content = measure(tmp_path, only, "--gnn-layouts=sample", GNNBENCH_FAKE_CLOCK=fake)
    assert result.returncode == pytest.ExitCode.TESTS_FAILED, result.stdout + result.stderr
    assert len(content["gnnbench"]["incomplete"]) == 2


@pytest.mark.nightly
def test_a_real_interrupt_in_a_real_run_saves_what_there_is(tmp_path):
    """Ctrl-C, as a terminal sends it, while the second of two benchmarks is timed by the real clock."""
    (tmp_path / "test_suite.py").write_text(
        "import pathlib, pytest\n"
        "def test_first(benchmark):\n    benchmark(sum, [1, 2])\n"
        "@pytest.mark.benchmark(max_time=60)\n"
        "def test_second(benchmark):\n    benchmark(pathlib.Path('started').touch)\n"
    )
    file = tmp_path / "run.json"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--gnn-layouts=sample"]
    command += ["--gnn-precision=1e-9", "--benchmark-max-time=0.1", f"--benchmark-json={file}"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "started").exists():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, out
    content = json.loads(file.read_text())
    assert list(measurements(content)) == ["test_first"]
    (incomplete,) = content["gnnbench"]["incomplete"]
    assert incomplete["fullname"].endswith("test_second")


def test_a_call_no_clock_can_see_fails_with_one_line(tmp_path):
    (tmp_path / "stuck.py").write_text("def stuck():\n    return 1.0\n")
    suite = "import torch\ndef test_short(benchmark):\n    benchmark(torch.neg, torch.ones(3))\n"
    result, _ = measure(
        tmp_path, suite, "--gnn-layouts=sample", "--benchmark-timer=stuck.stuck", PYTHONPATH=str(tmp_path)
    )
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert "the timer stuck did not advance in 100,000 readings; use time.perf_counter" in result.stdout
    assert "Traceback" not in result.stdout
    assert "clock.py" not in result.stdout


@pytest.mark.parametrize("options", [["--gnn-precision=1%"], ["--gnn-layouts=sample"]])
def test_two_ways_to_stop_are_an_error(tmp_path, options):
    result, _ = measure(tmp_path, SUITE, "--benchmark-precision=0.01", *options)
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert result.stderr.count("\n") <= 2
    assert "--benchmark-precision selects pytest-benchmark's timing" in result.stderr


def test_a_bad_fake_clock_is_one_line(tmp_path):
    result, _ = measure(tmp_path, SUITE, "--gnn-layouts=one", GNNBENCH_FAKE_CLOCK="nonsense")
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "GNNBENCH_FAKE_CLOCK='nonsense' must be SEED:FILE" in result.stdout + result.stderr


def test_the_installed_pytest_benchmark_has_the_parts_we_replace():
    check_pytest_benchmark()


@pytest.mark.parametrize("part", ["_raw", "_raw_pedantic", "_make_stats", "_save_cprofile"])
def test_a_pytest_benchmark_with_other_parts_is_refused_loudly(monkeypatch, part):
    monkeypatch.setattr(BenchmarkFixture, part, lambda _self, _other: None)
    with pytest.raises(UsageError, match=f"BenchmarkFixture.{part} has other parameters"):
        check_pytest_benchmark()
    monkeypatch.delattr(BenchmarkFixture, part)
    with pytest.raises(UsageError, match=f"BenchmarkFixture.{part} does not exist"):
        check_pytest_benchmark()


def test_only_who_needs_it_is_refused(tmp_path):
    """A stranger's suite runs with any pytest-benchmark; ours says why it does not."""
    (tmp_path / "conftest.py").write_text(
        "from pytest_benchmark.fixture import BenchmarkFixture\n"
        "BenchmarkFixture._moved, BenchmarkFixture._save_cprofile = BenchmarkFixture._save_cprofile, None\n"
    )
    suite = "def test_a(benchmark):\n    benchmark(sum, [1])\n"
    result, content = measure(tmp_path, suite, *SHORT)
    assert result.returncode == 0, result.stdout
    assert measurements(content) == {"test_a": None}
    refused, _ = measure(tmp_path, suite, "--gnn-layouts=sample")
    assert refused.returncode == pytest.ExitCode.USAGE_ERROR
    assert "BenchmarkFixture._save_cprofile does not exist; pip install" in refused.stdout


def test_what_cannot_be_saved_is_said_and_the_report_stays(tmp_path):
    (tmp_path / "file").write_text("")
    suite = "def test_one(benchmark):\n    benchmark(sum, [1])\n"
    saved = f"--benchmark-json={tmp_path / 'file' / 'run.json'}"
    result, _ = measure(tmp_path, suite, "--gnn-layouts=sample", *SHORT, saved)
    assert result.returncode == 1
    *_, last, _passed = result.stdout.splitlines()
    assert last.startswith("gnnbench: failed: ")
    assert last.endswith("file cannot be written (File exists); it was not saved")
    assert "test_suite.py::test_one" in result.stdout
    assert "INTERNALERROR" not in result.stdout + result.stderr


def test_what_is_timed_for_a_moment_is_watched_profiled_and_replaces_an_older_file_whole(tmp_path):
    suite = "def test_one(benchmark):\n    assert benchmark(sum, range(100)) == 4950\n"
    suite += "def test_two(benchmark):\n    benchmark.pedantic(sum, (range(100),), rounds=1)\n"
    (tmp_path / "run.json").write_text("old")
    options = ("--gnn-layouts=one", *SHORT, "--benchmark-save=mine", "--benchmark-cprofile=ncalls")
    result, content = measure(tmp_path, suite, *options)
    assert result.returncode == 0, result.stdout + result.stderr
    shares = {name: entry["contention_share"] for name, entry in measurements(content).items()}
    assert list(shares) == ["test_one", "test_two"]
    assert all(0 <= share < 2 for share in shares.values()), shares
    assert all(entry["cprofile"] for entry in content["benchmarks"])
    assert [path.name for path in (tmp_path / ".benchmarks").glob("*/*.json")] == ["0001_mine.json"]
