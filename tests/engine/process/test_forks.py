"""Calls that fork, in real processes: both return, or one ends as it should."""

import pytest

from gnnbench.engine.judge.trial import Trial
from gnnbench.engine.judge.visit import Inspections, NotTimed, Visit
from gnnbench.engine.process.forks import RETURN
from tests.engine.process.workers import of_group, prepared, workers, write

SUITE = """
import multiprocessing
import os
import sys
import pytest

def forks():
    return os.fork()

def forks_and_ends():
    child = os.fork()
    if not child:
        os._exit(0)
    return os.waitpid(child, 0)[1]

def forks_and_exits():
    if not os.fork():
        sys.exit(0)

def works(x):
    if not os.fork():  # a process of a process
        os._exit(0)
    return x

def pools():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.map(works, [1, 2])

@pytest.fixture
def noted():
    yield
    with open("ended", "a") as file:
        file.write("x")

@pytest.mark.parametrize("call", [forks, os.fork, forks_and_exits])
def test_splits(benchmark, call, noted):
    benchmark(call)

def test_splits_when_timed(benchmark):
    benchmark.pedantic(forks, rounds=5, iterations=4)

def test_splits_before(benchmark):
    benchmark.pedantic(forks, rounds=5, iterations=4, warmup_rounds=5)

def test_splits_once(benchmark):
    benchmark.pedantic(forks, rounds=1)

@pytest.mark.parametrize("call", [forks_and_ends, pools])
def test_stays(benchmark, call):
    benchmark(call)

def test_plain(benchmark):
    benchmark(sum, [1])
"""
SPLITS = ("splits[forks]", "splits[fork]", "splits[forks_and_exits]", "splits_when_timed", "splits_before")
STAYS = ("stays[forks_and_ends]", "stays[pools]", "plain")


@pytest.fixture
def pair(tmp_path):
    write(tmp_path, SUITE)
    with workers(tmp_path, prepared("base", SIDE="base"), prepared("head", SIDE="head")) as pair:
        yield pair
        assert not pair.broken
        for child in pair.children.values():
            assert of_group(child.pid) == [child.pid], "no process is left"


def test_a_call_that_splits_its_process_is_incomparable_and_the_others_are_timed(pair, tmp_path):
    for number, test in enumerate((*SPLITS, "splits_once"), 1):
        found = pair.visit(Trial(f"test_suite.py::test_{test}"), 0)
        assert found == NotTimed("incomparable", f"base and head: {RETURN}"), test
        assert not found.head_fails
        if number <= 3:
            assert (tmp_path / "ended").read_text() == "xx" * number, "only one process tears down"
    for test in STAYS:
        assert isinstance(pair.visit(Trial(f"test_suite.py::test_{test}"), 0), Visit), test


def test_it_is_found_where_calls_are_inspected(pair):
    for test in SPLITS[:3]:
        found = pair.inspect(Trial(f"test_suite.py::test_{test}"))
        assert found == NotTimed("incomparable", f"base and head: {RETURN}"), test
    for test in STAYS:
        assert isinstance(pair.inspect(Trial(f"test_suite.py::test_{test}")), Inspections), test
