"""A fault in one benchmark, or in a field that users write, costs nothing else, and is said."""

import json
import math

import pytest

from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.show import composed
from tests.run_files import content, entry, plain, save

OTHERS = {"test_a.py::b0", "test_a.py::b2"}
BAD = "test_a.py::b1"
TIMES = f"left out the times of 1 benchmark ({{}}): {BAD}"
COARSE = TIMES.format("a round took 0 s: the clock is too coarse")
AGAIN = f"left out 1 benchmark with the name of an earlier one (a test that times two calls?): {BAD}"


def ours(name, value):
    return lambda whole: whole["benchmarks"][1]["extra_info"]["gnnbench"].update({name: value})


def measured(name, value):
    return lambda whole: whole["benchmarks"][1]["extra_info"]["gnnbench"]["measurement"].update({name: value})


def rounds(**stats):
    return lambda whole: whole["benchmarks"][1].update(extra_info={}, stats=stats)


def second(**fields):
    return lambda whole: whole["benchmarks"][1].update(fields)


FAULTS = {
    "a round of 0 s": (rounds(data=[0.001, 0.0, 0.002], min=0.0, median=0.001), COARSE),
    "a clock set back": (
        rounds(data=[0.001, -1.0], min=-1.0, median=0.001),
        TIMES.format("-1.0 is no time or ratio"),
    ),
    "no number": (rounds(data=[math.nan], median=math.nan), TIMES.format("'nan' is no time or ratio")),
    "a round below 0": (
        measured("processes", [{"blocks_ns": [[-1]]}]),
        TIMES.format("$.measurement.processes[0].blocks_ns[0][0]: expected `float` > 1e-18"),
    ),
    "another spec": (
        ours("spec", {"x": 1}),
        TIMES.format("$.spec: object missing required field `operation`"),
    ),
    "another version": (ours("version", 99), "version 99 of the format"),
    "no name": (second(fullname=None), "left out 1 benchmark without a name"),
    "a name twice": (lambda whole: whole["benchmarks"].insert(2, entry("b1", 50.0)), AGAIN),
}
WRITTEN = {
    "extra_info": second(extra_info="mine"),
    "an object there": second(extra_info={"gnnbench": {"mine": 1}}),
    "group, name and options": second(group=[1], name={}, options="mine"),
    "numbers that JSON lacks": second(
        params={"x": math.nan, "y": -math.inf}, extra_info={"x": [math.inf]}, fullname=BAD
    ),
    "cpu": lambda whole: whole.update(machine_info={"cpu": "mine", "system": ["x"]}),
    "commit": lambda whole: whole.update(commit_info={"id": 3, "time": 4, "dirty": "yes"}),
    "an object in the file's gnnbench": lambda whole: whole.update(gnnbench={"mine": 1}),
}


def whole_run():
    return {**content(*(entry(f"b{number}") for number in range(3))), "datetime": "2026-11-25"}


def read_by_all(folder, whole, call):
    """Read a file by each command; return what stands on standard error, and the benchmarks with times."""
    (path,) = save(folder, whole)
    said = []
    other = folder / "other.json"
    other.write_text(json.dumps({**whole, "benchmarks": whole_run()["benchmarks"]}))
    for sides in ((path, other), (other, path)):
        status, _, err = call("compare", "--json", folder / "compared.json", sides[0], "--", sides[1])
        assert status in (0, 3), err
        rows = json.loads((folder / "compared.json").read_text())["comparison"]["rows"]
        assert {row["fullname"] for row in rows} >= OTHERS
        said.append(err)
    view = composed.compose(composed.read([path]), Thresholds(0.03))
    timed = {one.fullname for one in view.benchmarks if one.seconds}
    said.append("\n".join(view.notes))
    if "environment" in (whole["gnnbench"] if isinstance(whole["gnnbench"], dict) else {}):
        status, _, err = call("merge", path, "-o", folder / "whole.json")
        assert status == 0, err
        said.append(err)
    return said, timed


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_one_benchmark_costs_its_times_alone_and_is_said_by_every_command(fault, tmp_path, call):
    change, line = FAULTS[fault]
    whole = whole_run()
    change(whole)
    said, timed = read_by_all(tmp_path, whole, call)
    assert timed - {BAD} == OTHERS
    assert (BAD in timed) == (fault == "a name twice")
    for text in said:
        assert line in text


@pytest.mark.parametrize("field", WRITTEN)
def test_what_users_write_is_ignored_where_it_is_of_another_type(field, tmp_path, call):
    whole = whole_run()
    WRITTEN[field](whole)
    for one in whole["benchmarks"]:
        one["stats"]["data"] = [0.001, 0.0011, 0.0012]
    said, timed = read_by_all(tmp_path, whole, call)
    assert timed == {*OTHERS, BAD}
    assert not "".join(said)


def test_a_file_with_many_faults_is_one_line_for_each_reason_and_files_share_it(tmp_path, call):
    whole = plain(1)
    for one in whole["benchmarks"]:
        one["stats"]["data"][0] = 0
    first, second = save(tmp_path, whole, whole)
    status, _, err = call("compare", first, "--", second)
    assert status == 3
    names = "test_p.py::p0, test_p.py::p1, test_p.py::p2 and 1 more"
    reason = "a round took 0 s: the clock is too coarse"
    assert err == f"gnnbench: {first}, {second}: left out the times of 4 benchmarks ({reason}): {names}\n"
