"""What two processes of the base return differently is no difference of the head, in real processes."""

import subprocess

import pytest

from gnnbench.engine.judge.trial import Trial
from gnnbench.engine.process.variants import child
from tests.engine.process.workers import clean, sides_of, workers, write

PACKAGE = """
import os
import uuid

class Node:
    pass

NODES = [Node() for _ in range(50)]

def path(folder, n):
    return str(folder / "x.txt")

def text(place, n):
    return {"place": place, "n": n + 1}

def process(n):
    mean = n * (1 + os.getpid() % 8 * 2.0**-52)
    return {"pid": os.getpid(), "text": f"<{id(NODES):#x}>", "mean": mean, "n": n + 1}

def keys(n):
    return {"by": {node: number for number, node in enumerate(NODES)}, "n": n + 1}

def drawn(n):
    return {"id": str(uuid.uuid4()), uuid.uuid1().hex: n, "n": n + 1}

def order(n):
    return {"first": [NODES.index(node) for node in {*NODES}], "n": n + 1}

def alone(n):
    return os.getpid()
"""
SUITE = """
import pytest
import thing

NAMES = ("process", "keys", "drawn", "order", "alone")

@pytest.mark.parametrize("name", ["path", "text"])
def test_folder(benchmark, name, tmp_path):
    given = str(tmp_path) if name == "text" else tmp_path
    benchmark(getattr(thing, name), given, 3)

@pytest.mark.parametrize("name", NAMES)
def test_plain(benchmark, name):
    benchmark(getattr(thing, name), 3)
"""


@pytest.fixture(scope="module", params=["n + 1", "n + 2"])
def found(request, tmp_path_factory):
    """Return how the results agree of a head that computes this."""
    folder = tmp_path_factory.mktemp("unsteady")
    # Everything is changed, so that everything is compared.
    changed = PACKAGE.replace("n + 1", request.param).replace("return", "done = True\n    return")
    write(folder, SUITE)
    with pytest.MonkeyPatch.context() as patch:
        clean(patch)
        patch.setattr(child, "subprocess", subprocess)  # in forks, addresses are the same
        with workers(folder, *sides_of(folder, PACKAGE, changed), results=True, time_all=False) as pair:
            results = {}
            for name in pair.suite.names:
                results[name.rpartition("[")[2].strip("]")] = pair.inspect(Trial(name)).results
            assert len(pair.children) == 3, "one process of the base more, for all benchmarks"
    return request.param == "n + 1", results


@pytest.mark.parametrize("name", ["text", "process", "keys", "order"])
def test_beside_what_differs_between_two_processes_the_rest_is_compared(found, name):
    is_right, results = found
    one = results[name]
    if is_right:
        assert one.status == "equal" or (name, one.status) == ("process", "close")
        assert name == "keys" or one.reservation.endswith(", where two processes of the base differ")
        assert "mean" not in one.reservation, "rounding alone changes it"
    else:
        reason = "output['n'] is 5 instead of 4; 100% of its numbers differ"
        assert (one.status, one.reason) == ("differ", reason)


EXCLUDED = "excluding output, where two processes of the base differ"
OTHER_KEYS = "a second process of the base: has other keys or attributes than the first: output['"


@pytest.mark.parametrize(("name", "reason"), [("path", EXCLUDED), ("alone", EXCLUDED), ("drawn", OTHER_KEYS)])
def test_where_nothing_is_left_or_keys_differ_nothing_is_compared(found, name, reason):
    one = found[1][name]
    assert (one.status, one.reason[: len(reason)]) == ("not compared", reason)
