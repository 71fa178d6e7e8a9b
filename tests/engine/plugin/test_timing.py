import json

from gnnbench.engine.ground import codec
from gnnbench.engine.plugin.timing import timing_of
from gnnbench.engine.store.parts import RunPart
from gnnbench.suite.plugin.choice import choice_of
from tests.engine.plugin.recorded import collected


def test_the_folder_of_the_tests_is_no_part_of_the_code_that_is_measured(pytester):
    """Whatever its name; tests/engine/measure/test_sources.py has what that leaves."""
    pytester.mkdir("perf").joinpath("test_suite.py").write_text("def test_one(benchmark):\n    pass\n")
    (item,) = collected(pytester, "", "perf")
    assert timing_of(item.config)._suite_names >= {"perf", "test_suite"}


def test_what_was_not_default_is_saved_beside_the_shard(known):
    config = known.parseconfigure("--gnn-device=cpu", "--gnn-shard=1/2")
    choice_of(config).left_out = {"test_a.py::two": None, "test_a.py::one": None}
    content = {}
    config.hook.pytest_benchmark_update_json(config=config, benchmarks=[], output_json=content)
    ours = json.loads(json.dumps(content["gnnbench"]))
    codec.decode(ours, RunPart)
    assert (ours["not_default"], ours["shard"]) == (["test_a.py::one", "test_a.py::two"], "1/2")


def test_another_suite_s_test_that_runs_out_of_memory_fails_as_usual_and_is_saved_as_incomplete(known):
    known.makepyfile(test_suite="def test_large(benchmark):\n    benchmark(bytes, 2**62)\n")
    words = ("--gnn-layouts=one", "--gnn-device=cpu", "--benchmark-json=run.json")
    found = known.runpytest_inprocess(*words)
    found.assert_outcomes(failed=1)
    assert "MemoryError" in str(found.stdout)
    (one,) = json.loads((known.path / "run.json").read_text())["gnnbench"]["incomplete"]
    assert (one["fullname"], one["error"]) == ("test_suite.py::test_large", "OOM")


SHARED = """
import pytest
from gnnbench.engine.plugin.timing import timing_of

def seconds(request):
    print("seconds", timing_of(request.config)._instrument.max_seconds)

def test_first(benchmark, request):
    seconds(request)
    benchmark(int)

@pytest.mark.skip
def test_skipped(benchmark):
    benchmark(int)

@pytest.mark.benchmark(max_time=0.001)
def test_with_its_own_time(benchmark, request):
    seconds(request)
    benchmark(int)

def test_without_benchmark():
    pass

def test_last(benchmark, request):
    seconds(request)
    benchmark(int)
"""


def test_benchmarks_share_the_time_of_the_session(known):
    known.makepyfile(test_suite=SHARED)
    words = ("--gnn-layouts=one", "--gnn-device=cpu", "-s", "-v", "--gnn-precision=50%")
    found = known.runpytest_inprocess(*words, "--gnn-time=1h", "--benchmark-json=run.json")
    found.assert_outcomes(passed=4, skipped=1)
    first, own, last = (line.split()[-1] for line in found.outlines if "seconds " in line)
    assert (float(first), own) == (1200, "None")
    assert 3500 < float(last) < 3600
    ours = json.loads((known.path / "run.json").read_text())["gnnbench"]
    codec.decode(ours, RunPart)
