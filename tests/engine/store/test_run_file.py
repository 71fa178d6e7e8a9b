import json
import math

import pytest

from gnnbench.engine.ground import codec
from gnnbench.engine.store import run_file
from tests.run_files import ENVIRONMENT, content, entry, plain, refusal, save, suite


def refused(tmp_path, text):
    path = tmp_path / "run.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return refusal(run_file.read, path)


def test_what_was_measured_is_read(tmp_path):
    (path,) = save(tmp_path, suite(1))
    run = run_file.read(path)
    assert list(run.benchmarks) == [f"test_a.py::b{number}" for number in range(6)]
    (process,) = run.benchmarks["test_a.py::b1"].processes
    assert math.exp(process.log) == pytest.approx(2e6, rel=0.06)
    assert 0.001 < process.error < 0.02
    assert process.blocks == 60
    assert run.commit == "a" * 40


def test_several_processes_in_a_file_are_several(tmp_path):
    two = entry("b")
    measured = two["extra_info"]["gnnbench"]["measurement"]
    measured["processes"] = measured["processes"] * 2
    (path,) = save(tmp_path, content(two))
    one, other = run_file.read(path).benchmarks["test_a.py::b"].processes
    assert one == other
    assert one.log == pytest.approx(math.log(measured["location_ns"]))


def test_files_of_pytest_benchmark_alone_are_read(tmp_path):
    paths = save(tmp_path, plain(1), plain(2, data=False))
    with_data, without = (run_file.read(path).benchmarks["test_p.py::p0"] for path in paths)
    assert math.exp(with_data.processes[0].log) == pytest.approx(0.94e6, rel=0.05)
    assert without.processes == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON, or truncated"),
        (b"\xff\xfe\x00", "not valid JSON, or truncated"),
        ("[]", "it has no list of benchmarks"),
        ('{"command": "ab", "benchmarks": []}', "the output of gnnbench ab, not a run file"),
        ('{"benchmarks": [], "gnnbench": {"version": 99}}', "format version 99"),
        ('{"context": {}, "benchmarks": [{"name": "BM_sum", "real_time": 1.2}]}', "it has no key `version`"),
        ('{"version": "", "benchmarks": [{}]}', "not a run file of pytest-benchmark: missing key 'fullname'"),
        ('{"version": "1.0", "benchmarks": [1, null]}', "a field has the wrong type"),
        ('{"version": "1.0", "benchmarks": [{"fullname": 1, "stats": {}}]}', "$[0]: expected `str`"),
        ('{"version": 3, "benchmarks": []}', "it has no key `version`"),
    ],
)
def test_what_is_no_run_file_is_refused_with_place_and_reason(tmp_path, text, message):
    assert message in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("environment", {"cpu": "x"}, "damaged: gnnbench.environment: object missing required field"),
        ("environment", {**codec.encode(ENVIRONMENT), "python": 3}, "damaged: gnnbench.environment.python"),
        (
            "measurement",
            {"processes": [{"blocks_ns": [[-1]]}]},
            "test_a.py::b1: $.measurement.processes[0].blocks_ns[0][0]: expected",
        ),
        ("spec", {"x": []}, "test_a.py::b1: $.spec[...]: expected"),
        ("data", [0.001, 0.0], "test_a.py::b1: $[1]: expected `float`"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(tmp_path, place, value, message):
    whole = suite(1)
    row = whole["benchmarks"][1]
    if place == "environment":
        whole["gnnbench"][place] = value
    elif place == "data":
        row |= {"extra_info": {}, "stats": {place: value}}
    else:
        row["extra_info"]["gnnbench"][place] = value
    assert message in refused(tmp_path, json.dumps(whole))


def test_what_users_write_is_ignored_where_it_is_of_another_type(tmp_path):
    whole = plain(1)
    whole["benchmarks"][0] |= {"extra_info": "mine", "group": [1], "name": {}, "options": "mine"}
    whole["benchmarks"][1]["extra_info"] = {"gnnbench": {"mine": 1}}
    whole["benchmarks"][2] |= {"params": {"x": math.nan}, "extra_info": {"x": [math.inf]}}
    whole |= {
        "machine_info": {"cpu": "mine", "system": ["x"]},
        "commit_info": {"id": 3},
        "gnnbench": {"mine": 1},
    }
    (path,) = save(tmp_path, whole)
    assert all(benchmark.processes for benchmark in run_file.read(path).benchmarks.values())
