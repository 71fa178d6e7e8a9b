"""Both sides of a pair in one process."""

from dataclasses import replace

import pytest

from gnnbench.engine.drive import coordinator
from gnnbench.engine.judge.schedule import PairPlan
from gnnbench.engine.judge.trial import Trial
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.judge.visit import NotTimed, Visit
from gnnbench.engine.process.pairs import Pair, Pairs
from gnnbench.engine.process.plan import PairSettings
from tests.engine.process.workers import Watcher, common, lines, machine, prepared, write
from tests.sampling import nightly

SUITE = """
import os
import sys
import pytest
import thing

@pytest.fixture(scope="session")
def graph():
    yield [1, 2]
    print(thing.NAME, file=open("torn-down", "a"))

def call():
    import thing as later
    import lazy
    assert lazy.NAME == thing.NAME
    getattr(thing, "check", int)()
    from thing.inner import NAME
    print(os.getpid(), thing.NAME, later.NAME, NAME, file=open("calls", "a"))

def test_it(benchmark, graph):
    benchmark(call)

def test_twice(benchmark):
    benchmark(call)
    assert sys.modules["thing"] is thing

def test_alone(benchmark):
    benchmark(sum, [1])
    assert os.environ.setdefault("FIRST", thing.NAME) == thing.NAME

def test_dies(benchmark):
    if thing.NAME == "head":
        os.kill(os.getpid(), 9)
    benchmark(sum, [1])
"""


DATAPIPE = """
from torch.utils.data import IterDataPipe, functional_datapipe

@functional_datapipe("of_thing")
class Pipe(IterDataPipe):
    pass

def check():
    assert IterDataPipe.functions["of_thing"].args[0] is Pipe
"""


def package(folder, name, text=""):
    """Write a package that says of which side it is, and return the folder that has it."""
    (folder / name / "thing").mkdir(parents=True)
    (folder / name / "thing" / "__init__.py").write_text(f"NAME = {name!r}\n{text}")
    for file in ("thing/inner.py", "lazy.py"):
        (folder / name / file).write_text(f"NAME = {name!r}\n")
    return folder / name


@pytest.fixture
def run(tmp_path):
    """Return what starts a run, given what is added to both sides' package, and the head's variables."""

    def begin(text="", **variables):
        folder = write(tmp_path, SUITE)
        base = prepared("path:base", package(tmp_path, "base", text))
        head = prepared("path:head", package(tmp_path, "head", text), **variables)
        runs.append(common(folder, time_all=True))
        return PairSettings(base, head), runs[0]

    runs = []
    yield begin
    for shared in runs:
        shared.end_parents()


def visited(settings, shared, *names):
    with Pair(settings, shared) as pair:
        return [pair.visit(Trial(f"test_suite.py::{name}"), 0.05) for name in names]


def test_each_side_has_modules_of_its_own_in_one_process(run, tmp_path):
    settings, shared = run()
    for _ in range(2):
        assert all(isinstance(result, Visit) for result in visited(settings, shared, "test_it", "test_twice"))
    assert not shared.why_apart
    calls = lines(tmp_path, "calls")
    assert len({process for process, *_ in calls}) == 2  # one for each pair
    assert {tuple(names) for _, *names in calls} == {("base",) * 3, ("head",) * 3}
    assert sorted(lines(tmp_path, "torn-down")) == [["base"], ["base"], ["head"], ["head"]]


def test_a_name_that_torch_gives_to_one_class_is_that_of_the_side(run):
    settings, shared = run(DATAPIPE)
    assert isinstance(visited(settings, shared, "test_it")[0], Visit)
    assert not shared.why_apart


def test_the_base_is_its_own_control(run, tmp_path):
    settings, shared = run()
    visited(settings, shared, "test_it")
    (tmp_path / "calls").unlink()
    with Pair(PairSettings(settings.base, settings.base), shared, shared.parents.of_base()) as pair:
        visit = pair.visit(Trial("test_suite.py::test_it"), 0.05)
    assert len(visit.base_ns) == len(visit.head_ns) >= 5
    calls = lines(tmp_path, "calls")
    assert len({process for process, *_ in calls}) == 1
    assert {tuple(names) for _, *names in calls} == {("base",) * 3}


@pytest.mark.parametrize(
    ("text", "variables", "why"),
    [
        (
            "import os\nassert os.environ.setdefault('ONCE', NAME) == NAME, 'loaded twice'\n",
            {},
            "loaded twice",
        ),
        ("import numpy\nclass Mine: pass\nnumpy.Mine = Mine\n", {}, "is compiled"),
        ("", {"THREADS": "1"}, "differ in environment variables"),
    ],
)
def test_what_cannot_be_in_one_process_is_in_two(run, text, variables, why):
    settings, shared = run(text, **variables)
    assert isinstance(visited(settings, shared, "test_it")[0], Visit)
    assert why in shared.why_apart


@pytest.mark.parametrize(
    ("text", "why"),
    [("", ""), ("import sys\nif NAME == 'head': sys.setrecursionlimit(5000)\n", "interpreter")],
)
def test_what_all_code_of_a_process_shares_keeps_the_sides_apart(run, monkeypatch, text, why):
    settings, shared = run(text)
    reasons = []
    monkeypatch.setattr(Pairs, "separate", lambda _, reason: reasons.append(reason))
    plan = replace(
        shared.plan,
        only=["test_suite.py::test_twice"],
        time_all=False,
        thresholds=Thresholds(0.5),
        per_benchmark_seconds=1.0,
    )
    coordinator.run(settings.base, settings.head, plan, Watcher())
    assert [why in reason for reason in reasons] == [True] * bool(why), reasons


@pytest.mark.parametrize("name", ["test_alone", "test_dies"])
def test_a_failure_in_one_process_is_tried_in_two(run, name):
    settings, shared = run()
    results = []
    with Pairs(shared.plan, Watcher()) as pairs:
        for _ in range(2):
            plan = PairPlan({f"test_suite.py::{name}": 0.05})
            trials = {f"test_suite.py::{name}": Trial(f"test_suite.py::{name}")}
            results.append(pairs.measure(settings, trials, plan)[1])
        assert name in pairs.shared.why_apart
    first, second = results
    assert not first.visits
    assert not first.failures
    if name == "test_alone":
        assert second.visits
    else:
        (failure,) = second.failures.values()
        assert isinstance(failure, NotTimed)
        assert failure.sides == ("head",)


CROWDED = """
import sys
sys.sides = getattr(sys, "sides", 0) + 1

def __getattr__(name):
    if name != "SECONDS":
        raise AttributeError(name)
    return 1.3e-3 if NAME == "head" and {} else 1e-3
"""


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [nightly(pytest.param("True", "slower", id="always")), ("sys.sides > 1", "undecided")],
    ids=[None, "together"],
)
def test_what_is_slower_in_one_process_alone_is_not_slower(run, monkeypatch, condition, verdict):
    settings, shared = run(CROWDED.format(condition))
    folder = shared.plan.folder
    times = machine(folder / "times.json", {"test_suite.py::test_twice": "thing:SECONDS"}, sigma=0.01)
    monkeypatch.setenv("GNNBENCH_FAKE_CLOCK", times)
    plan = replace(shared.plan, only=["test_suite.py::test_twice"], per_benchmark_seconds=60.0)
    (row,) = coordinator.run(settings.base, settings.head, plan, Watcher()).rows
    assert row.judgement.verdict == verdict, row.judgement
    assert ("not confirmed" in row.judgement.reason) == (verdict == "undecided")
