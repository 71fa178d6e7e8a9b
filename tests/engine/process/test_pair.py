import random
import statistics

import pytest

from gnnbench.engine.ground.cpu import cores
from gnnbench.engine.judge.trial import Trial
from gnnbench.engine.judge.visit import Size, Visit
from gnnbench.engine.measure.simulated_clock import VARIABLE
from gnnbench.engine.process.pairs import Pair
from gnnbench.engine.process.plan import PairSettings
from gnnbench.engine.process.turns import no_benchmark
from gnnbench.engine.process.variants.child import Process
from tests.engine.process.workers import common, machine, prepared, wait_for_end, workers, write

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

@pytest.mark.skip(reason="not at all")
def test_skipped(benchmark):
    benchmark(sum, [1])

@pytest.mark.skip(reason=f"not in {SIDE}")
def test_skipped_differently(benchmark):
    benchmark(sum, [1])

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
        while not (os.path.exists(other) and os.path.getsize(other) >= visits):
            assert time.monotonic() < deadline, f"{what}: the other side never came"
            time.sleep(0.01)
    meet("set-up")
    yield
    meet("tear-down")

def test_meets(benchmark, meeting):
    benchmark(sum, [1])
"""

TRAPPED = """
import os
import signal

def test_ends(benchmark):
    benchmark(os.kill, os.getpid(), signal.SIGTRAP)

def test_reads(benchmark, tmp_path):
    for number in range(2000):
        open(tmp_path / f"{number:0100}", "a+").close()
    benchmark(sum, [1])
"""
BASE, HEAD = prepared("base", SIDE="base"), prepared("head", SIDE="head")


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path, SUITE)


def name(test):
    return f"test_suite.py::{test}"


class Noted(random.Random):
    """Notes which side is drawn to be first."""

    firsts = ()

    def sample(self, *arguments, **options):
        found = super().sample(*arguments, **options)
        self.firsts += (found[0],)
        return found


def test_turns_of_drawn_order_on_one_core_each(folder, monkeypatch):
    told, rng = [], Noted(1)
    good, slow, drawn = (Trial(name(f"test_{test}")) for test in ("good", "slow", "random"))
    send = Process.send

    def noted(process, command, *descriptors):
        if command["command"] == "block":
            told.append(command["core"])
        send(process, command, *descriptors)

    monkeypatch.setattr(Process, "send", noted)
    with workers(folder, BASE, HEAD, rng=rng) as pair:
        assert pair.broken is None
        assert {name("test_good"), name("test_only_in_base")} < set(pair.suite.names)
        assert pair.suite.declared == set(pair.suite.names) - {name("test_no_benchmark")}
        assert pair.suite.notes() == []
        found = pair.visit(good, 0.5)
        assert isinstance(found, Visit)
        assert len(found.base_ns) == len(found.head_ns) >= 5
        assert all(one > 0 for one in (*found.base_ns, *found.head_ns))
        assert set(rng.firsts) == {"base", "head"}
        assert told[::2] == told[1::2]
        assert len(cores()) < 2 or 1 < len(set(told)) <= len(cores())
        size = good.size
        assert found.rounds == len(found.base_ns) * size.rounds
        assert size.iterations > 100
        assert len(pair.visit(slow, 0).base_ns) == 5
        assert slow.size == Size(1, 1)
        # Once more, of the same size.
        again = pair.visit(good, 0)
        assert again.rounds == len(again.base_ns) * size.rounds
        assert good.size == size
        drawn.size = size._replace(rounds=5)
        for _ in range(2):
            known = pair.visit(drawn, 0)
            assert known.rounds == 5 * len(known.base_ns)
        once = pair.visit(Trial(name("test_once")), 10)
        assert (len(once.base_ns), once.rounds) == (1, 1)
        assert pair.broken is None
        assert not pair.shared.simulated
        groups = [one.pid for one in pair.children.values()]
    wait_for_end(*groups)
    base, head = ((folder / f"drawn-{one}").read_text() for one in ("base", "head"))
    assert base == head, "both sides draw the same"
    assert len(set(base.splitlines())) == 2


def test_failures_that_leave_both_healthy(folder):
    meets = Trial(name("test_meets"))
    with workers(folder, BASE, HEAD) as pair:
        for test, kind, text in (
            ("test_no_benchmark", "no benchmark", no_benchmark("").text),
            ("test_skipped", "skipped", "base and head: skipped: not at all"),
            ("test_skipped_differently", "skipped", "base: skipped: not in base; head: skipped: not in head"),
            ("test_only_in_base", "failed", "head: has no such test"),
            ("test_nowhere", "failed", "base and head: has no such test"),
        ):
            found = pair.visit(Trial(name(test)), 0)
            assert (found.kind, found.text) == (kind, text)
            assert isinstance(pair.visit(meets, 0), Visit)
        assert pair.broken is None


def test_a_trap_ends_the_process_of_its_benchmark_alone(tmp_path):
    write(tmp_path, TRAPPED)
    settings = PairSettings(prepared("base"), prepared("head"), untimed=True, trapped=["lib.so"])
    with Pair(settings, common(tmp_path)) as pair:
        found = pair.inspect(Trial(name("test_ends")))
        assert found.text == "base and head: the test's process ended with exit status -5"
        assert pair.inspect(Trial(name("test_reads"))).same_code
        assert len(pair.used["head"]["read"]) >= 2000


def test_a_file_that_one_side_cannot_collect(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.py").write_text("raise RuntimeError('too old')\n")
    (tmp_path / "mine.py").touch()
    write(tmp_path, "import mine\ndef test_it(benchmark): benchmark(sum, [1])\n")
    with workers(tmp_path, prepared("other", other), prepared(".")) as pair:
        assert pair.suite.notes() == ["base: test_suite.py cannot be collected: RuntimeError: too old"]
        assert pair.loaded == {"base": ("mine",), "head": ()}
        expected = "base: has no such test: test_suite.py cannot be collected: RuntimeError: too old"
        found = pair.visit(Trial(name("test_it")), 0)
        assert (found.text, found.head_fails) == (expected, False)
    with workers(tmp_path, prepared("."), prepared("other", other)) as pair:
        assert pair.visit(Trial(name("test_it")), 0).head_fails


def simulated(folder, name, benchmarks, **noise):
    told = machine(folder / f"{name}.json", benchmarks, sigma=0.02, **noise)
    return prepared(name, **{VARIABLE: told})


def test_a_known_slowdown_under_one_drift_of_both_sides(folder):
    """A strong one, so that sides with phases or times of their own would differ by half."""
    drift = {"drift": 0.5, "drift_period_seconds": 0.5}
    sides = [simulated(folder, one, {"test_good": one}, **drift) for one in (1e-3, 1.1e-3)]
    with workers(folder, *sides, number=3) as pair:
        found = pair.visit(Trial(name("test_good")), 2)
        # As the simulated machine counts them.
        assert 2 < found.seconds < 2.4
        assert pair.shared.fake_seconds == pytest.approx(found.seconds)
    assert 1e6 < max(found.base_ns) > 1.5 * min(found.base_ns)
    ratios = [head / base for base, head in zip(found.base_ns, found.head_ns, strict=True)]
    assert statistics.median(ratios) == pytest.approx(1.1, rel=0.05)
    assert statistics.stdev(ratios) < 0.3


FAR = [1e-4, 1e-3, 0.01, 10.0, 100.0, 1e4]


def test_a_visit_of_sides_that_are_far_apart_takes_no_longer_than_its_calls(tmp_path):
    """Calls of 1 ms: rounds of as many calls on both sides would take up to 5 s."""
    calls = "\n".join(f"def test_{number}(benchmark): benchmark(int)" for number in range(len(FAR)))
    sides = []
    for power in (0, 1):
        times = {f"test_{number}": 1e-3 * far**power for number, far in enumerate(FAR)}
        sides.append(simulated(tmp_path, power, times))
    with workers(write(tmp_path, calls), *sides) as pair:
        for number, far in enumerate(FAR):
            found = pair.visit(Trial(name(f"test_{number}")), 0.5)
            turn = 2 * max(1, far) * 1e-3
            assert found.seconds < 0.7 + 7 * turn
            assert found.head_ns[0] / found.base_ns[0] == pytest.approx(far, rel=0.5)
            assert len(found.base_ns) >= 5
        # A visit that is too long has no more turns than needed.
        assert len(pair.visit(Trial(name("test_5")), 0.5, 20.0).base_ns) == 1
