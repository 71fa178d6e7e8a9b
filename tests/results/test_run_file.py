import json
import math

import pytest

from gnnbench.engine.ground import codec
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.measure.sources import Package, Sources, Tree
from gnnbench.engine.store import run_file
from tests.run_files import content, entry, plain, save, suite


def refused(tmp_path, text):
    path = tmp_path / "run.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as caught:
        run_file.read(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_what_was_measured_is_read(tmp_path):
    (path,) = save(tmp_path, suite(1))
    run = run_file.read(path)
    assert list(run.benchmarks) == [f"test_a.py::b{number}" for number in range(6)]
    (process,) = run.benchmarks["test_a.py::b1"].processes
    assert math.exp(process.log) == pytest.approx(2e6, rel=0.06)
    assert 0.001 < process.error < 0.02
    assert process.blocks == 60
    assert run.commit == "a" * 40


def test_sources_are_read(tmp_path):
    content = suite(1)
    (without,) = save(tmp_path, plain(1))
    assert run_file.read(without).sources is None
    tree = Tree("../pyg", "b" * 40, 0, ("torch_geometric",), compiled=False)
    sources = Sources("3.11", (tree,), {"numpy": Package("2.4.6")})
    content["gnnbench"]["sources"] = codec.encode(sources)
    (newer,) = save(tmp_path, content)
    assert run_file.read(newer).sources == sources
    del content["gnnbench"]["sources"]["python"]
    assert "damaged at gnnbench.sources: object missing required field `python`" in refused(
        tmp_path, json.dumps(content)
    )


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
        ("", "not JSON, or cut off"),
        (b"\xff\xfe\x00", "not JSON, or cut off"),
        ("[]", "it has no list of benchmarks"),
        ('{"command": "ab", "benchmarks": []}', "a result of gnnbench ab, and not a run file"),
        ('{"benchmarks": [], "gnnbench": {"version": 99}}', "version 99 of the format"),
        ('{"context": {}, "benchmarks": [{"name": "BM_sum", "real_time": 1.2}]}', "have no `fullname`"),
        ('{"version": "1.0", "benchmarks": [{"runs": [{"values": [0.1]}]}]}', "have no `fullname`"),
        ('{"version": "1.0", "benchmarks": [1, null]}', "have no `fullname`"),
        ('{"benchmarks": [{"fullname": "a", "stats": {"median": 1.0}}]}', "it has no `version`"),
        ('{"version": 3, "benchmarks": []}', "it has no `version`"),
    ],
)
def test_what_is_no_run_file_is_refused_with_place_and_reason(tmp_path, text, message):
    assert message in refused(tmp_path, text)


def test_an_environment_of_another_form_is_refused(tmp_path):
    for environment in ({"cpu": "x"}, {**suite(1)["gnnbench"]["environment"], "python": 3}):
        whole = suite(1)
        whole["gnnbench"]["environment"] = environment
        assert "damaged at gnnbench.environment" in refused(tmp_path, json.dumps(whole))
