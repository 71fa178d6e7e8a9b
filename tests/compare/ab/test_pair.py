import json
import os
import random
import signal
import statistics
import threading

import pytest

from gnnbench.compare.ab.turns import NO_BENCHMARK, Size
from gnnbench.compare.ab.visit import Visit
from gnnbench.cpu import cores
from gnnbench.variants.child import Child
from tests.compare.ab.workers import clean, is_gone, side, workers, write

SUITE = """
import os
import random
import time
import pytest

SIDE = os.environ.get("SIDE")

def test_good(benchmark):
    assert benchmark(sum, [1, 2]) == 3

def test_slow(benchmark):
    benchmark(time.sleep, 0.02)

def test_once(benchmark):
    benchmark.pedantic(sum, ([1],))

def test_no_benchmark():
    pass

@pytest.mark.skipif(SIDE == "head", reason="not here")
def test_skipped_in_head(benchmark):
    benchmark(sum, [1])

@pytest.mark.skip(reason="not at all")
def test_skipped(benchmark):
    benchmark(sum, [1])

@pytest.mark.skip(reason=f"not in {SIDE}")
def test_skipped_differently(benchmark):
    benchmark(sum, [1])

def test_raises_in_base(benchmark):
    def fails():
        if SIDE == "base":
            raise ValueError("enough")
    benchmark(fails)

def test_random(benchmark):
    print(f"drawn {random.random()} {hash('x')}", file=open(f"drawn-{SIDE}", "a"))
    benchmark(sum, [1])

if SIDE == "base":
    def test_only_in_base(benchmark):
        benchmark(sum, [1])

@pytest.fixture
def meeting():
    def meet(what):
        with open(f"{what}-{SIDE}", "a") as file:
            file.write("x")
        visits, deadline = os.path.getsize(f"{what}-{SIDE}"), time.monotonic() + 30
        other = f"{what}-{'head' if SIDE == 'base' else 'base'}"
        there = lambda: os.path.exists(other) and os.path.getsize(other) >= visits
        alone = not there()
        while visits > 1 and not there():
            assert time.monotonic() < deadline, f"{what}: the other side never came"
            time.sleep(0.01)
        if visits == 1:
            print(what, alone, file=open("first", "a"))
    meet("set-up")
    yield
    meet("tear-down")

def test_meets(benchmark, meeting):
    benchmark(sum, [1])

def test_exits_in_head(benchmark):
    benchmark(os._exit if SIDE == "head" else str, 7)

def test_hangs_in_base(benchmark):
    benchmark(time.sleep, 1000 if SIDE == "base" else 0)
"""

BASE, HEAD = side(SIDE="base"), side(SIDE="head")


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    clean(monkeypatch)


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path, SUITE)


def name(test):
    return f"test_suite.py::{test}"


def pids(pair):
    return [one.pid for one in pair.processes.children.values()]


def test_turns(folder):
    sizes = {}
    with workers(folder, BASE, HEAD, sizes=sizes) as pair:
        assert pair.broken is None
        assert {name("test_good"), name("test_only_in_base")} < set(pair.names)
        assert pair.declared == set(pair.names) - {name("test_no_benchmark")}
        found = pair.visit(name("test_good"), 0.1)
        assert isinstance(found, Visit)
        assert len(found.base_ns) == len(found.head_ns) >= 5
        assert all(one > 0 for one in (*found.base_ns, *found.head_ns))
        size = sizes[name("test_good")]
        assert found.rounds == len(found.base_ns) * size.rounds
        assert size.iterations > 100
        slow = pair.visit(name("test_slow"), 0)
        assert len(slow.base_ns) == 5
        assert sizes[name("test_slow")] == Size(1, 1)
        # Once more, of the same size.
        assert isinstance(pair.visit(name("test_good"), 0), Visit)
        assert sizes[name("test_good")] == size
        assert pair.processes.fake_seconds is None
        groups = pids(pair)
    assert all(map(is_gone, groups))


@pytest.mark.skipif(len(cores()) < 2, reason="needs two cores")
def test_both_sides_of_a_turn_are_told_the_same_core(folder, monkeypatch):
    told = []
    send = Child.send

    def noted(process, command):
        if command["command"] == "block":
            told.append(command["core"])
        send(process, command)

    monkeypatch.setattr(Child, "send", noted)
    with workers(folder) as pair:
        pair.visit(name("test_good"), 0.5)
    assert told[::2] == told[1::2]
    assert 1 < len(set(told)) <= len(cores())


def test_what_is_not_timed_runs_at_once_but_for_the_first_time(folder):
    with workers(folder, BASE, HEAD) as pair:
        for _ in range(3):
            assert isinstance(pair.visit(name("test_meets"), 0), Visit)
    # In each the second finds the first gone by.
    assert (folder / "first").read_text().splitlines() == [
        *("set-up True", "set-up False", "tear-down True", "tear-down False"),
    ]


def test_a_size_that_is_known_is_kept(folder):
    with workers(folder, sizes={name("test_good"): Size(7, 5)}) as pair:
        found = pair.visit(name("test_good"), 0)
        assert found.rounds == 5 * len(found.base_ns)


def test_a_single_round_is_timed_once(folder):
    with workers(folder) as pair:
        found = pair.visit(name("test_once"), 10)
        assert (len(found.base_ns), found.rounds) == (1, 1)
        assert "fresh ones are needed" in pair.visit(name("test_once"), 10).text
        assert pair.broken is None


def test_failures_that_leave_both_healthy(folder):
    with workers(folder, BASE, HEAD) as pair:
        for test, text in {
            "test_no_benchmark": NO_BENCHMARK.text,
            "test_skipped_in_head": "head: skipped: not here",
            "test_skipped": "base and head: skipped: not at all",
            "test_skipped_differently": "base: skipped: not in base; head: skipped: not in head",
            "test_raises_in_base": "base: raised: ValueError: enough",
            "test_only_in_base": "head: has no such test",
            "test_nowhere": "base and head: has no such test",
        }.items():
            found = pair.visit(name(test), 0)
            assert found.text == text
            assert (found.kind == "skipped") == (test in ("test_skipped", "test_skipped_differently"))
            assert isinstance(pair.visit(name("test_good"), 0), Visit)
        assert pair.broken is None


def test_both_sides_draw_the_same(folder):
    with workers(folder, BASE, HEAD) as pair:
        for _ in range(2):
            pair.visit(name("test_random"), 0)
    base, head = ((folder / f"drawn-{one}").read_text() for one in ("base", "head"))
    assert base == head
    assert len(set(base.splitlines())) == 2


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("test_exits_in_head", "head: ended with exit status 7 while inspecting"),
        ("test_hangs_in_base", "base: did not answer for 4 s while inspecting"),
    ],
)
def test_a_side_that_dies_ends_the_pair(folder, test, text):
    with workers(folder, BASE, HEAD, timeout_seconds=4) as pair:
        groups = pids(pair)
        assert pair.visit(name(test), 0).text == text
        assert pair.broken == text
        with pytest.raises(ValueError, match=text):
            pair.visit(name("test_good"), 0)
    assert all(map(is_gone, groups))


def test_a_side_that_is_killed(folder):
    with workers(folder, BASE, HEAD) as pair:
        threading.Timer(0.5, os.kill, (pids(pair)[0], signal.SIGKILL)).start()
        assert "was killed by SIGKILL" in pair.visit(name("test_slow"), 60).text
        assert pair.broken


def test_an_error_of_the_coordinator_leaves_no_process(folder):
    with pytest.raises(KeyboardInterrupt), workers(folder) as pair:  # noqa: PT012
        groups = pids(pair)
        raise KeyboardInterrupt
    assert all(map(is_gone, groups))


def test_a_pair_that_does_not_start(folder):
    with workers(folder, arguments=["nowhere.py"]) as pair:
        assert pair.broken.endswith(
            "ended with exit status 4 while starting: ERROR: file or directory not found: nowhere.py"
        )
        assert pair.names == ()


def test_nothing_to_time(tmp_path):
    with workers(write(tmp_path, "")) as pair:
        assert (pair.names, pair.declared, pair.broken) == ((), frozenset(), None)


def test_a_file_that_one_side_cannot_collect(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.py").write_text("raise RuntimeError('too old')\n")
    (tmp_path / "mine.py").touch()
    write(tmp_path, "import mine\ndef test_it(benchmark): benchmark(sum, [1])\n")
    with workers(tmp_path, side(other)) as pair:
        assert pair.refused == {"base": {"test_suite.py": "RuntimeError: too old"}, "head": {}}
        assert pair.processes.loaded == {"base": ("mine",), "head": ()}
        expected = "base: has no such test: test_suite.py cannot be collected: RuntimeError: too old"
        assert pair.visit(name("test_it"), 0).text == expected


@pytest.fixture
def machine(tmp_path):
    """Write a simulated machine's true time and return the variable."""

    def write(seconds, file="truth.json", seed=1, **noise):
        quiet = {"sigma": 0.02, "drift": 0, "spike_probability": 0}
        content = {"benchmarks": {"test_good": seconds}, "noise": {**quiet, **noise}}
        (tmp_path / file).write_text(json.dumps(content))
        return {"GNNBENCH_FAKE_CLOCK": f"{seed}:{tmp_path / file}"}

    return write


def ratio(visit):
    return statistics.median(visit.head_ns) / statistics.median(visit.base_ns)


def test_a_known_slowdown(folder, machine):
    base, head = side(**machine(1e-3)), side(**machine(1.05e-3, "slower.json"))
    with workers(folder, base, head) as pair:
        found = pair.visit(name("test_good"), 1)
        assert ratio(found) == pytest.approx(1.05, rel=0.01)
        assert found.base_ns[0] == pytest.approx(1e6, rel=0.05)
        # As the simulated machine counts them.
        assert 1 < found.seconds < 1.2
        assert pair.processes.fake_seconds == pytest.approx(found.seconds)


def test_both_sides_see_one_drift(folder, machine):
    """A strong one, so that sides with phases or times of their own would differ by half."""
    same = side(**machine(1e-3, drift=0.5, drift_period_seconds=0.5))
    with workers(folder, same, same, number=3) as pair:
        found = pair.visit(name("test_good"), 2)
    assert max(found.base_ns) > 1.5 * min(found.base_ns)
    ratios = [head / base for base, head in zip(found.base_ns, found.head_ns, strict=True)]
    assert statistics.median(ratios) == pytest.approx(1, rel=0.05)
    assert statistics.stdev(ratios) < 0.3


def test_processes_differ(folder, machine):
    same = side(**machine(1e-3, process_sigma=0.2))
    ratios, times = [], [5.0]
    for number in range(2):
        with workers(folder, same, same, number=number, fake_seconds=times[-1]) as pair:
            ratios.append(ratio(pair.visit(name("test_good"), 0)))
            times.append(pair.processes.fake_seconds)
    assert len({round(one, 3) for one in (1, *ratios)}) == 3
    assert times == sorted(times)


def test_who_is_first_is_drawn(folder):
    firsts = []

    class Noted(random.Random):
        def sample(self, *arguments, **options):
            firsts.append(super().sample(*arguments, **options))
            return firsts[-1]

    with workers(folder, rng=Noted(1)) as pair:
        pair.visit(name("test_good"), 0.2)
    assert {one[0] for one in firsts} == {"base", "head"}


CHOICE = """
import os
import pytest

class Choice:
    left_out = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        left_out = os.environ["LEFT_OUT"].split()
        self.left_out = {item.nodeid: item for item in items if item.name in left_out}
        items[:] = [item for item in items if item.nodeid not in self.left_out]

def pytest_configure(config):
    if "LEFT_OUT" in os.environ:  # an older gnnbench leaves none out
        config.pluginmanager.register(Choice(), "gnnbench-choice")
"""


@pytest.mark.parametrize(
    ("base", "head", "names"),
    [
        ({"LEFT_OUT": "test_b"}, {"LEFT_OUT": "test_b"}, ["test_a", "test_of_base"]),
        ({}, {"LEFT_OUT": "test_b"}, ["test_a", "test_of_base"]),
        ({"LEFT_OUT": "test_a test_of_base"}, {"LEFT_OUT": "test_b"}, ["test_a"]),
        ({"LEFT_OUT": ""}, {"LEFT_OUT": ""}, ["test_a", "test_b", "test_of_base"]),
    ],
)
def test_the_newer_side_says_which_benchmarks_are_default(tmp_path, base, head, names):
    tests = "".join(f"def test_{name}(benchmark):\n    benchmark(sum, [1])\n" for name in "ab")
    only = "import os\nif os.environ['SIDE'] == 'base':\n    test_of_base = test_a\n"
    folder = write(tmp_path, tests + only)
    (folder / "conftest.py").write_text(CHOICE)
    with workers(folder, side(SIDE="base", **base), side(SIDE="head", **head)) as pair:
        assert pair.benchmarks == [name(one) for one in names]
        assert bool(pair.choice()) == (len(names) < 3)
        assert isinstance(pair.visit(name("test_b"), 0.01), Visit), "it can be named all the same"


def test_an_older_gnnbench_that_does_not_know_all_is_not_given_it(tmp_path):
    folder = write(tmp_path, "def test_a(benchmark):\n    benchmark(sum, [1])\n")
    with workers(folder, arguments=("test_suite.py", "--gnn-all")) as pair:
        assert pair.broken is None
        assert pair.benchmarks == [name("test_a")]
