"""Pairs of processes that are forked from those which have collected the suite."""

import pytest

from gnnbench.engine.judge.schedule import PairPlan
from gnnbench.engine.judge.trial import Trial
from gnnbench.engine.judge.visit import NotTimed, Visit
from gnnbench.engine.process.pairs import Pair, Pairs
from gnnbench.engine.process.plan import PairSettings
from gnnbench.engine.process.processes import PAIRS_OF_PARENTS
from tests.engine.process.workers import Watcher, common, lines, prepared, write

SUITE = """
import os
import random
import threading
import time
import pytest

BEFORE = os.getpid()
CALLS = []

@pytest.fixture(scope="session")
def graph():
    yield [1, 2]
    print(os.getpid(), file=open("torn-down", "a"))

def test_state(benchmark, graph):
    CALLS.append(1)
    print(os.getpid(), BEFORE, len(CALLS), random.random(), file=open("state", "a"))
    benchmark(sum, graph)

def test_dies(benchmark):
    if os.path.exists("kill"):
        os.kill(os.getpid(), 9)
    benchmark(sum, [1])
"""
SIDE = prepared(".")
SETTINGS = PairSettings(SIDE, SIDE)
TRIALS = {name: Trial(f"test_suite.py::test_{name}") for name in ("state", "dies")}


@pytest.fixture
def shared(tmp_path):
    shared = common(write(tmp_path, SUITE), time_all=True, why_apart="asked")
    yield shared
    shared.end_parents()


def visited(shared, name):
    with Pair(SETTINGS, shared) as pair:
        return pair.visit(TRIALS[name], 0.05)


def test_each_pair_is_as_fresh_as_new_processes_but_for_what_they_import(shared):
    count = 2 * PAIRS_OF_PARENTS
    assert all(isinstance(visited(shared, "state"), Visit) for _ in range(count))
    folder = shared.plan.folder
    processes, parents, calls, drawn = zip(*lines(folder, "state"), strict=True)
    assert len(set(processes)) == 2 * count
    assert len(set(parents)) == 4
    assert set(calls) == {"1"}
    assert len(set(drawn)) == count
    assert sorted(processes) == sorted(line[0] for line in lines(folder, "torn-down"))
    assert not set(processes) & set(parents)


@pytest.mark.parametrize(
    "line", ["threading.Thread(target=time.sleep, args=(600,), daemon=True).start()", "torch.relu(LARGE)"]
)
def test_what_cannot_be_forked_has_processes_of_its_own(shared, line):
    file = shared.plan.folder / "test_suite.py"
    large = "import torch\ntorch.set_num_threads(2)\nLARGE = torch.ones(10**6)\n"
    file.write_text(f"{file.read_text()}{large if 'torch' in line else ''}{line}\n")
    assert all(isinstance(visited(shared, "state"), Visit) for _ in range(2))
    assert "thread" in shared.why_no_forks
    assert shared.parents is None
    assert all(process == parent for process, parent, *_ in lines(shared.plan.folder, "state"))


def test_a_fork_that_dies_is_named_and_the_next_pair_works(shared):
    assert isinstance(visited(shared, "state"), Visit)
    (shared.plan.folder / "kill").touch()
    why = visited(shared, "dies")
    assert isinstance(why, NotTimed)
    assert why.kind == "died"
    assert "was killed by SIGKILL" in why.text
    (shared.plan.folder / "kill").unlink()
    assert isinstance(visited(shared, "dies"), Visit)


def test_a_process_whose_forks_die_is_not_forked_again(shared):
    file = shared.plan.folder / "test_suite.py"
    file.write_text(f"{file.read_text()}os.register_at_fork(after_in_child=lambda: os._exit(3))\n")
    name = TRIALS["state"].name
    with Pairs(shared.plan, Watcher()) as pairs:
        pairs.shared.why_apart = "asked"
        _, times = pairs.measure(SETTINGS, {name: TRIALS["state"]}, PairPlan({name: 0.05}))
        assert "exit status 3" in pairs.shared.why_no_forks
    assert [*times.visits] == [name]
