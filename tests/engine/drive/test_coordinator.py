import math
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from gnnbench.engine.drive import coordinator
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.judge.verdict import SAME_CODE
from tests.engine.process.answers import answering, inspected
from tests.engine.process.workers import Watcher, machine, plan, prepared, write

SUITE = """
import os

import pytest

def work(n=100):
    return sum(range(n))

def test_sum(benchmark):
    benchmark(work)

def test_more(benchmark):
    benchmark(work, 200)

@pytest.mark.parametrize("name", ["a::b", "π"])
def test_odd(benchmark, name):
    benchmark(work)

IN_HEAD = "FAULT" in os.environ

def test_crashes(benchmark):
    if IN_HEAD:
        os._exit(3)
    benchmark(work)

def test_raises(benchmark):
    assert not IN_HEAD, "too\\n many"
    benchmark(work)

def test_skips(benchmark):
    if IN_HEAD:
        pytest.skip("not here")
    benchmark(work)

def test_skips_on_both(benchmark):
    pytest.skip("not here")

def test_skips_later(benchmark):
    with open("visits", "a+") as visits:
        visits.write("x")
        visits.seek(0)
        if len(visits.read()) > 4:  # of both sides: inspected, and timed in a pair
            pytest.skip("no more")
    benchmark(work)

if not IN_HEAD:
    def test_only_in_base(benchmark):
        benchmark(work)
"""
TESTS = (
    *("test_sum", "test_more", "test_odd[a::b]", "test_odd[\\u03c0]"),
    *("test_crashes", "test_raises", "test_skips", "test_skips_later", "test_only_in_base"),
)


@pytest.fixture
def watcher():
    return Watcher()


def judge(sides, watcher, seconds, total=math.inf, **options):
    limits = {"per_benchmark_seconds": seconds, "total_seconds": total}
    return coordinator.run(*sides, plan(Path.cwd(), seed=1, **limits, **options), watcher)


@pytest.fixture
def found(tmp_path, watcher, monkeypatch):
    """Compare two sides of the suite on the simulated machine; only their variables and times differ."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, SUITE)
    sides = []
    slower = {"test_more": 1.3, "test_odd": 1 / 1.3}
    for name, factors, variables in (("base", {}, {}), ("head", slower, {"FAULT": "1"})):
        seconds = {f"test_suite.py::{test}": 1e-3 * factors.get(test.partition("[")[0], 1) for test in TESTS}
        told = machine(tmp_path / f"{name}.json", seconds, sigma=0.01, drift=0.02)
        sides.append(prepared(f"env:SIDE={name}", GNNBENCH_FAKE_CLOCK=told, **variables))
    yield judge(sides, watcher, 60.0, time_all=True)
    assert not [
        process
        for process in psutil.Process().children(recursive=True)
        if "pytest" in " ".join(process.cmdline()) and process.cwd() == str(tmp_path)
    ]


def test_verdicts_whatever_goes_wrong_and_each_step_is_told_before_it_begins(found, watcher):
    judgements = {row.fullname.partition("::")[2]: row.judgement for row in found.rows}
    for test, text in {
        "test_crashes": "fails in the head, but not in the base: ended with exit status 3",
        "test_raises": "fails in the head, but not in the base: raised: AssertionError: too, test_suite.py:",
        "test_skips": "head: skipped: not here",
        "test_skips_later": "skipped: no more",
        "test_only_in_base": "head: has no such test",
    }.items():
        judgement = judgements.pop(test)
        assert judgement.verdict == "incomparable"
        assert text in judgement.reason
    broken = {row.fullname.partition("::")[2] for row in found.rows if row.is_worse} - {"test_more"}
    assert broken == {"test_crashes", "test_raises"}, "what skips or is gone is no fault"
    assert {name: one.verdict for name, one in judgements.items()} == {
        "test_sum": "same",
        "test_more": "slower",
        "test_odd[a::b]": "faster",
        "test_odd[\\u03c0]": "faster",
    }
    rows = {row.fullname: row for row in found.rows}
    slower = rows["test_suite.py::test_more"]
    assert 1 < slower.judgement.low < 1.3 < slower.judgement.high
    assert slower.counts.pairs >= 3
    assert slower.counts.rounds >= slower.counts.layouts > 0
    assert slower.seconds == pytest.approx(1.3e-3, rel=0.1)
    assert not any(one.judgement.same_code for one in found.rows)
    assert found.contention_share is None
    assert rows["test_suite.py::test_skips_later"].counts.pairs == 1
    assert found.notes == (
        "each side was timed in a process of its own: the sides differ in $FAULT",
        "1 benchmark skipped on both sides (not here)",
    )
    crashed, cost = watcher.said
    assert "test_crashes: head: ended" in crashed, "inspected; alone it ends again, and is not timed"
    assert cost.startswith("a process pair takes at least ")
    assert " for 7 benchmarks: the budget allows about " in cost

    assert watcher.steps[0] == ("starting both sides, and collecting tests", 120.0)
    begin = watcher.steps.index(("starting the processes of pair 1, and collecting tests", 120.0))
    inspected = [text.partition(": ") for text, _ in watcher.steps[1:begin] if text.startswith("inspecting")]
    assert [number for number, _, _ in inspected] == [
        f"inspecting benchmark {number} of 10" for number in range(1, 11)
    ]
    *timing, end = watcher.steps[begin + 1 : begin + 9]
    others = ["test_skips", "test_skips_later", "test_only_in_base"]
    assert [text.partition(": ")[2].partition("::")[2] for text, _ in timing] == [*judgements, *others]
    assert [text.partition(": ")[0] for text, _ in timing] == [
        f"timing benchmark {number} of 7 in pair 1, for 0.5 s after its set-up" for number in range(1, 8)
    ]
    assert end == ("ending the processes of pair 1", None)
    decisions, spent, left = watcher.updates[0]
    assert (len(decisions), left) == (9, 420.0), "what there is to time is known after the inspection"
    assert found.control.visits >= 3
    assert not found.control.fails
    assert found.all_notes()[-1].startswith("smallest detectable slowdown: ")
    assert found.all_notes()[-1].endswith(found.control.text)
    decisions, spent, left = watcher.updates[-1]
    assert all(one.counts.decided for one in decisions.values())
    assert spent > 0
    assert left < 600


def test_time_that_is_spent_leaves_the_rest_undecided(tmp_path, monkeypatch, watcher):
    """A command takes all that there is."""
    long = {"seconds": 10.0}
    answering(monkeypatch, tmp_path, ["test_a.py::a", "test_a.py::b"], base=long, head=long)
    found = judge((prepared("git:old"), prepared("git:new")), watcher, 60.0, 3.0)
    assert {row.judgement.verdict for row in found.rows} <= {"undecided", "incomparable"}
    assert sum(text.startswith("timing") for text, _ in watcher.steps) == 1


TWO = """
from package import changed, kept

def test_changed(benchmark):
    benchmark(changed)

def test_kept(benchmark):
    benchmark(kept)

def test_kept_too(benchmark):
    benchmark(kept, 2)
"""
KEPT = "import time\ndef kept(n=1):\n    return n\n"


@pytest.fixture
def sides(tmp_path, monkeypatch):
    """Two versions of a package of which one function differs."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, TWO)
    for folder, seconds in ((tmp_path, 0.002), (tmp_path / "tree", 0.004)):
        folder.mkdir(exist_ok=True)
        (folder / "package.py").write_text(f"{KEPT}def changed():\n    time.sleep({seconds})\n")
    return prepared("."), prepared("path:tree", Path("tree").resolve())


def test_benchmarks_that_run_the_same_code_are_same_and_the_budget_goes_to_the_others(sides, watcher):
    """By the real clock: the code in the tree is what runs."""
    found = judge(sides, watcher, 0.8)
    decisions = {row.fullname.partition("::")[2]: row for row in found.rows}
    assert list(decisions) == ["test_changed", "test_kept", "test_kept_too"], "in the order of collection"
    assert decisions["test_changed"].counts.pairs > 0
    for name in ("test_kept", "test_kept_too"):
        assert decisions[name].judgement.reason == "runs the same code"
        assert decisions[name].counts.pairs == 0
    assert 0 <= found.contention_share <= 1.1
    timed = [text for text, _ in watcher.steps if "timing" in text and "pair 1," not in text]
    assert all("timing benchmark 1 of 1" in text for text in timed), timed
    changed, kept, _ = found.rows
    assert kept.judgement == SAME_CODE
    assert kept.counts.seconds == 0.0
    assert changed.work.changed.functions == ("package:changed",)
    assert decisions["test_changed"].notes[0] == "code: changed"


def test_sides_that_cannot_be_compared_are_refused_in_a_line(sides, watcher):
    Path("empty/other").mkdir(parents=True)
    empty = prepared("path:empty", Path("empty").resolve())
    with pytest.raises(UsageError, match="head: the benchmarks import no package of path:empty"):
        judge((sides[0], empty), watcher, 2.0)
    hidden = replace(sides[1], text="pip:torch==1", versions={"torch": "1"})  # by a folder with its name
    with pytest.raises(UsageError, match="head: the benchmarks import no package of pip:torch==1"):
        judge((sides[0], hidden), watcher, 2.0)
    nowhere = prepared("env:PYTHONHOME=/nowhere", PYTHONHOME="/nowhere")
    with pytest.raises(UsageError, match=r"while starting: Fatal Python error"):
        judge((nowhere, nowhere), watcher, 2.0)
    (said,) = watcher.said
    assert said.endswith("; restarting both sides"), "once"


@pytest.mark.parametrize(("more", "named"), [(500, False), (500, True), (410, False)])
def test_what_does_more_than_before_is_timed_first_and_then_alone(
    tmp_path, monkeypatch, watcher, more, named
):
    names = [f"test_a.py::{name}" for name in ("fewer", "other", "little", "more")]
    counts = {"test_a.py::fewer": (5, 4), "test_a.py::little": (400, 404), "test_a.py::more": (400, more)}
    base, head = (
        {
            f"inspect {name}": {
                **inspected(work=side),
                "counts": {"aten::add": counts.get(name, (50, 50))[number], "Python calls": (42, 51)[number]},
            }
            for name in names
        }
        for number, side in enumerate(("old", "new"))
    )
    answering(monkeypatch, tmp_path, names, base=base, head=head)
    judge((prepared("git:old"), prepared("git:new")), watcher, 60.0, only=names if named else None)
    timed = [text.rpartition("::")[2] for text, _ in watcher.steps if "timing benchmark" in text]
    assert timed[:4] == ["more", "little", "other", "fewer"]
    alone = next(number for number, name in enumerate(timed[4:]) if name != "more")
    assert alone in ((3, 4, 5) if more == 500 else (0, 1))
    assert {*timed[4 + alone : 8 + alone]} >= {"little", "other", "fewer"}


ENDLESS = """
import time

import pytest
from package import changed

@pytest.fixture
def endless():
    time.sleep(1000)

def test_changed(benchmark):
    benchmark(changed)

def test_endless(benchmark, endless):
    benchmark(changed)
"""


def test_a_set_up_that_takes_longer_than_all_the_time_is_no_failure(sides, watcher, tmp_path):
    """The processes would otherwise be waited for until the timeout, and the benchmark would have failed."""
    write(tmp_path, ENDLESS)
    found = judge(sides, watcher, 60.0, 4.0)
    decisions = {row.fullname.partition("::")[2]: row.judgement for row in found.rows}
    assert decisions["test_endless"].verdict == "undecided"
    assert "budget" in decisions["test_endless"].reason
    assert all(text.startswith("a process pair takes at least") for text in watcher.said)


def test_a_pair_that_starts_when_the_time_ends_is_not_restarted(sides, watcher, tmp_path):
    """Its fork would answer later."""
    late = "import os\nimport time\n\nos.register_at_fork(after_in_child=lambda: time.sleep(1000))\n"
    write(tmp_path, f"{late}{TWO}")
    found = judge(sides, watcher, 60.0, 6.0)
    assert sum(text.startswith("starting the processes") for text, _ in watcher.steps) <= 1
    assert watcher.said == []
    assert not any("did not answer" in note for note in found.all_notes())
