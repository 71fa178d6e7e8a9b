"""Real runs of pytest with our timing in the place of pytest-benchmark's."""

import json
import re

import pytest

from gnnbench.engine.ground import codec
from gnnbench.engine.store.parts import BenchmarkPart
from tests import forks
from tests.engine.plugin.recorded import machine
from tests.runs import SHORT, environment, pytest_on_cpu

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

@pytest.mark.in_place("it has to be")
def test_in_place(benchmark):
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

@pytest.mark.whole_call("the call starts a process")
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
            raise ValueError("not while inspected")
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

x = torch.ones(3)

def at_the_40th(act):
    calls = itertools.count()
    return lambda x: act() if next(calls) == 40 else None

def test_error():
    raise MemoryError("CUDA out of memory")

def test_raises(benchmark):
    benchmark(at_the_40th(lambda: {}["enough"]), x)

def test_out_of_memory(benchmark):
    benchmark(at_the_40th(lambda: torch.empty(2**50)), x)

def test_good(benchmark):
    benchmark(torch.neg, x)

def test_interrupted(benchmark):
    benchmark(at_the_40th(lambda: os.kill(os.getpid(), signal.SIGINT)), x)

def test_never_reached(benchmark):
    benchmark(torch.neg, x)
"""


@pytest.fixture
def fake(tmp_path):
    """Return the variable of a machine on which each of a suite's benchmarks takes a millisecond."""
    return lambda suite: machine(tmp_path, **dict.fromkeys(re.findall(r"test_\w+", suite), 1e-3))


def measure(folder, suite, *options, **changes):
    """Run a suite, where torch is imported already if it needs it."""
    (folder / "test_suite.py").write_text(suite)
    file = folder / "run.json"
    command = pytest_on_cpu(f"--benchmark-json={file}", *options)
    result = forks.run(command, folder, environment(**changes), libraries="import torch" in suite)
    content = json.loads(file.read_text()) if file.exists() and file.stat().st_size else {}
    return result, content


def parts(content):
    return {entry["name"]: entry["extra_info"].get("gnnbench", {}) for entry in content["benchmarks"]}


def test_any_benchmark_is_timed_on_sampled_layouts_where_that_is_asked_for(tmp_path, fake):
    options = ("-v", "--gnn-layouts", "sample", "--gnn-precision", "2%")
    result, content = measure(tmp_path, SUITE, *options, **fake(SUITE))
    assert result.returncode == 0, result.stdout + result.stderr
    entries = {entry["name"].removeprefix("test_"): entry for entry in content["benchmarks"]}
    found = {name: entry["extra_info"]["gnnbench"]["measurement"] for name, entry in entries.items()}
    sampled = {name for name, measurement in found.items() if measurement["layouts"] == "sampled"}
    assert sampled == {"plain", "marked", "in_a_fixture"}
    reasons = {
        "in_place": "it has to be",
        "in_place_by_name": "by name",
        "captured": "cannot copy tensors that <lambda> captured",
        "whole": "the call starts a process",
    }
    assert {name: found[name]["in_place"] for name in reasons} == reasons
    stops = {"plain": "precision", "pedantic": "rounds", "marked": "time"}
    assert {name: found[name]["stopped_by"] for name in stops} == stops
    assert all(measurement["clock"] == "fake" for measurement in found.values())
    assert found["plain"]["location_ns"] == pytest.approx(1e6, rel=0.05)
    assert entries["plain"]["extra_info"]["mine"] == 1
    hashes = {entry["extra_info"]["gnnbench"]["definition_hash"] for entry in content["benchmarks"]}
    assert len(hashes) == len(entries), "also in a fixture, each has its own"
    rounds = [value / 1e9 for block in found["plain"]["processes"][0]["blocks_ns"] for value in block]
    assert entries["plain"]["stats"]["data"] == pytest.approx(rounds)
    assert (found["whole"]["whole_call"], found["whole"]["iterations"]) == ("the call starts a process", 1)
    calls = found["whole"]["processes"][0]["blocks_ns"]
    assert {len(block) for block in calls} == {1}
    assert entries["whole"]["extra_info"]["calls"] == len(calls) + 1, "one untimed before, none afterwards"
    row = r"^ +[\d.]+ [mµ]s ± +[\d.]+% test_suite.py::test_plain$"
    assert re.search(row, result.stdout, re.MULTILINE)
    said = " ".join(result.stdout.split())
    note = "another run may differ by more than the interval"
    assert f"{note}: it has to be: test_suite.py::test_in_place" in said
    assert "ops, peak and sync are empty: the call starts a process: test_suite.py::test_whole" in said
    assert "times are disturbed by idle OpenMP threads: OMP_WAIT_POLICY is unset" in said


def test_what_is_timed_is_inspected_afterwards_without_torch(tmp_path, fake):
    result, content = measure(tmp_path, INSPECTED, "-s", "--gnn-layouts=sample", **fake(INSPECTED))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "inspected: fails plain" in result.stdout
    found = parts(content)
    assert {name: ours.get("no_fingerprint") for name, ours in found.items()} == {
        "test_plain": None,
        "test_pedantic": "benchmark.pedantic prescribes the calls",
        "test_fails": "the call cannot be inspected (ValueError: not while inspected, test_suite.py:11)",
        "test_whole": "each call is timed as a whole (marked whole_call)",
    }
    assert list(found["test_plain"].pop("fingerprint")["functions"]) == ["test_suite:work"]
    for ours in found.values():
        assert {*ours} - {"no_fingerprint"} == {"definition_hash", "measurement", "version"}
        codec.decode(ours, BenchmarkPart)


def test_what_was_measured_before_an_error_or_an_interruption_is_saved(tmp_path, fake):
    """And a stranger's failure stays one, whatever it says."""
    result, content = measure(tmp_path, FAILING, "--gnn-layouts=sample", **fake(FAILING))
    assert result.returncode == pytest.ExitCode.INTERRUPTED, result.stdout + result.stderr
    assert list(parts(content)) == ["test_good"]
    assert "3 failed, 1 passed" in result.stdout
    incomplete = {entry["fullname"].partition("::")[2]: entry for entry in content["gnnbench"]["incomplete"]}
    assert {name: entry["error"].partition(":")[0] for name, entry in incomplete.items()} == {
        "test_raises": "KeyError",
        "test_out_of_memory": "OOM at 4194304 GiB",
        "test_interrupted": "KeyboardInterrupt",
    }
    for entry in incomplete.values():
        assert entry["measurement"]["stopped_by"] is None
        assert sum(map(len, entry["measurement"]["processes"][0]["blocks_ns"])) > 4


def test_a_call_no_clock_can_see_fails_with_one_line(tmp_path):
    (tmp_path / "stuck.py").write_text("def stuck():\n    return 1.0\n")
    suite = "import torch\ndef test_short(benchmark):\n    benchmark(torch.neg, torch.ones(3))\n"
    options = ("--gnn-layouts=sample", "--benchmark-timer=stuck.stuck")
    result, _ = measure(tmp_path, suite, *options, PYTHONPATH=str(tmp_path))
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert "the timer stuck did not advance in 100,000 readings; choose another" in result.stdout
    assert not re.search("Traceback|clock.py", result.stdout)


ONE = "def test_one(benchmark):\n    assert benchmark(sum, range(100)) == 4950\n"
FULL = """
import resource
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish():
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
"""


def test_only_who_needs_it_is_refused(tmp_path):
    """A stranger's suite runs with any pytest-benchmark; ours says why it does not."""
    (tmp_path / "conftest.py").write_text(
        "from pytest_benchmark.fixture import BenchmarkFixture\n"
        "BenchmarkFixture._moved, BenchmarkFixture._raw_pedantic = BenchmarkFixture._raw_pedantic, None\n"
    )
    result, content = measure(tmp_path, ONE, *SHORT)
    assert result.returncode == 0, result.stdout
    assert parts(content) == {"test_one": {}}
    refused, _ = measure(tmp_path, ONE, "--gnn-layouts=sample")
    assert refused.returncode == pytest.ExitCode.USAGE_ERROR
    assert "whose BenchmarkFixture._raw_pedantic has changed; run pip install" in refused.stdout


def test_where_a_run_does_not_fit_on_the_disk_the_older_file_stays(tmp_path):
    (tmp_path / "conftest.py").write_text(FULL)
    (tmp_path / "run.json").write_text('"old"')
    result, content = measure(tmp_path, ONE, "--gnn-layouts=sample", *SHORT)
    assert result.returncode == pytest.ExitCode.TESTS_FAILED, result.stdout
    said = f"failed: {tmp_path / 'run.json'} cannot be written (File too large); the run was not saved"
    assert said in result.stdout
    assert content == "old"
    assert not list(tmp_path.glob(".run-*"))


def test_what_is_timed_for_a_moment_is_watched_and_replaces_an_older_file_whole(tmp_path):
    profiled = "import pytest\n@pytest.mark.benchmark(cprofile=True)\n" + ONE.replace("one", "profiled")
    suite = f"{ONE}def test_two(benchmark):\n    benchmark.pedantic(sum, (range(100),), rounds=1)\n{profiled}"
    (tmp_path / "run.json").write_text("old")
    result, content = measure(tmp_path, suite, "--gnn-layouts=one", *SHORT, "--benchmark-save=mine")
    assert result.returncode == 0, result.stdout + result.stderr
    found = parts(content)
    assert found.pop("test_profiled") == {}, "pytest-benchmark times what it profiles"
    shares = {name: part["measurement"]["contention_share"] for name, part in found.items()}
    assert list(shares) == ["test_one", "test_two"]
    assert all(0 <= share < 2 for share in shares.values()), shares
    assert [path.name for path in (tmp_path / ".benchmarks").glob("*/*.json")] == ["0001_mine.json"]
