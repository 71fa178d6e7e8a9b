import json
import random
from pathlib import Path

import psutil
import pytest

from gnnbench.compare.ab import coordinator
from gnnbench.compare.ab.coordinator import Budget
from gnnbench.compare.verdict import Thresholds
from gnnbench.errors import UsageError
from gnnbench.variants.prepare import Prepared
from tests.compare.ab.workers import clean, write

SUITE = """
import os
import signal
import time

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
"""
NOISE = {"sigma": 0.01, "spike_probability": 0, "drift": 0.02}
TESTS = ("test_sum", "test_more", "test_odd[a::b]", "test_odd[\\u03c0]", "test_fault")


class Watcher:
    def __init__(self):
        self.said = []
        self.steps = []
        self.updates = []

    def say(self, text):
        self.said.append(text)

    def step(self, text, at_most_seconds=None):
        self.steps.append((text, at_most_seconds))

    def update(self, decisions, spent_seconds, left_seconds):
        self.updates.append((dict(decisions), spent_seconds, left_seconds))


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    clean(monkeypatch)


@pytest.fixture
def watcher():
    return Watcher()


@pytest.fixture
def ab(tmp_path, watcher, monkeypatch):
    """Return a function that compares two sides of a suite on the simulated machine."""
    monkeypatch.chdir(tmp_path)

    def truths(name, **slower):
        file = tmp_path / f"{name}.json"
        seconds = {f"test_suite.py::{test}": 1e-3 * slower.get(test.partition("[")[0], 1) for test in TESTS}
        file.write_text(json.dumps({"benchmarks": seconds, "noise": NOISE}))
        return str(file)

    def run(suite=SUITE, *, answer=60.0, total=None, arguments=(), head_variables=None, **slower):
        write(tmp_path, suite)
        sides = [
            Prepared(
                f"env:SIDE={name}",
                (),
                {
                    "GNNBENCH_FAKE_CLOCK": f"7:{truths(name, **(slower if name == 'head' else {}))}",
                    **((head_variables or {}) if name == "head" else {}),
                },
                None,
                False,
                {},
            )
            for name in ("base", "head")
        ]
        return coordinator.run(
            *sides,
            ["test_suite.py", *arguments],
            tmp_path,
            Thresholds(0.03),
            Budget(20.0, total, answer),
            watcher,
            1,
            time_all=True,  # only the simulated times differ
        )

    yield run
    assert not [
        process
        for process in psutil.Process().children(recursive=True)
        if "pytest" in " ".join(process.cmdline()) and process.cwd() == str(tmp_path)
    ]


def verdicts(result):
    return {
        name.partition("::")[2]: decision.judgement.verdict for name, decision in result.decisions.items()
    }


def test_the_same_code_is_the_same_and_what_is_slower_is_slower(ab, watcher):
    found = ab(test_more=1.1)
    assert verdicts(found) == {
        "test_sum": "same",
        "test_more": "slower",
        "test_odd[a::b]": "same",
        "test_odd[\\u03c0]": "same",
    }
    slower = found.decisions["test_suite.py::test_more"]
    assert slower.judgement.low > 1
    assert slower.judgement.low < 1.1 < slower.judgement.high
    assert slower.pairs >= 3
    assert slower.rounds >= slower.layouts > 0
    assert found.head_ns["test_suite.py::test_more"] == pytest.approx(1.1e6, rel=0.1)
    assert not watcher.said
    assert found.contention_share is None
    decisions, spent, left = watcher.updates[-1]
    assert all(one.decided for one in decisions.values())
    assert spent > 0
    assert left < 80


def test_each_step_is_told_before_it_begins(ab, watcher):
    ab(total=30.0)
    start, *timing, end = watcher.steps[:6]
    assert start == ("starting the processes of pair 1, and collecting", 120.0)
    assert {text.partition(": ")[2].partition("::")[2] for text, _ in timing} == {
        "test_sum",
        "test_more",
        "test_odd[a::b]",
        "test_odd[\\u03c0]",
    }
    assert [text.partition(": ")[0] for text, _ in timing] == [
        f"timing benchmark {number} of 4 in pair 1, for 0.5 s after its set-up" for number in range(1, 5)
    ]
    assert end == ("ending the processes of pair 1", None)
    decisions, spent, left = watcher.updates[0]
    assert (len(decisions), spent, left) == (4, 0.0, 30.0), "what there is to time is known after the start"


def test_swapping_the_sides_is_faster(ab):
    assert verdicts(ab(test_more=1 / 1.1))["test_more"] == "faster"


def test_time_that_is_spent_leaves_the_rest_undecided(ab):
    found = ab(total=3.0)
    assert set(verdicts(found).values()) <= {"undecided", "incomparable"}


FAULTS = {
    "crashes": (
        "os._exit(3)",
        "head: ended with exit status 3",
    ),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", "head: was killed by SIGKILL"),
    "hangs": ("time.sleep(600)", "head: did not answer for 4 s"),
    "raises": ("raise ValueError('too\\n many')", "head: raised: ValueError: too"),
    "is skipped": ("pytest.skip('not here')", "head: skipped: not here"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_goes_wrong_is_named_and_the_rest_goes_on(ab, watcher, fault):
    what, text = FAULTS[fault]
    fault = f"    if 'FAULT' in os.environ:\n        {what}\n"
    suite = f"{SUITE}\ndef test_fault(benchmark):\n{fault}    benchmark(work)\n"
    found = ab(suite, answer=4.0 if "sleep" in what else 60.0, head_variables={"FAULT": "1"})
    assert verdicts(found).pop("test_fault") == "incomparable"
    assert text in found.decisions["test_suite.py::test_fault"].judgement.reason
    others = {name: verdict for name, verdict in verdicts(found).items() if name != "test_fault"}
    assert set(others.values()) == {"same"}
    assert len(watcher.said) == (0 if text.startswith(("head: raised", "head: skipped")) else 2)


def test_what_both_sides_skip_is_no_benchmark_of_theirs(ab):
    suite = f"{SUITE}\ndef test_fault(benchmark):\n    pytest.skip('not here')\n    benchmark(work)\n"
    found = ab(suite)
    assert set(verdicts(found)) == {"test_sum", "test_more", "test_odd[a::b]", "test_odd[\\u03c0]"}
    assert found.notes == ("skipped on both sides, and left out: 1 benchmark",)


def test_what_both_sides_skip_only_later_has_been_measured(ab):
    suite = f"""{SUITE}
def test_fault(benchmark):
    with open("visits", "a+") as visits:
        visits.write("x")
        visits.seek(0)
        if len(visits.read()) > 2:
            pytest.skip("no more")
    benchmark(work)
"""
    found = ab(suite)
    assert found.decisions["test_suite.py::test_fault"].pairs == 1
    assert verdicts(found)["test_fault"] == "incomparable"
    assert "skipped: no more" in found.decisions["test_suite.py::test_fault"].judgement.reason
    assert found.notes == ()


def test_a_benchmark_on_one_side_only_is_incomparable(ab):
    suite = (
        f"{SUITE}\nif 'FAULT' not in os.environ:\n    def test_fault(benchmark):\n        benchmark(work)\n"
    )
    found = ab(suite, head_variables={"FAULT": "1"})
    judgement = found.decisions["test_suite.py::test_fault"].judgement
    assert (judgement.verdict, judgement.reason) == ("incomparable", "head: has no such test")


def test_nothing_to_time_is_said_in_a_line(ab):
    with pytest.raises(UsageError, match="pytest finds no benchmarks here"):
        ab("def test_plain():\n    pass\n")
    with pytest.raises(UsageError, match=r"no benchmarks: .*cannot be collected: .*SyntaxError"):
        ab("def test_(:\n")
    with pytest.raises(UsageError, match="nonexistent"):
        ab(arguments=("nonexistent.py",))


def test_a_variant_that_nothing_imports_is_refused(tmp_path, watcher, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, SUITE)
    tree = tmp_path / "tree"
    (tree / "package").mkdir(parents=True)
    (tree / "package" / "__init__.py").touch()
    here = Prepared(".", (), {}, None, False, {})
    other = Prepared("path:tree", (tree,), {}, None, False, {})
    with pytest.raises(UsageError, match="head: the benchmarks import no package of path:tree"):
        coordinator.run(
            here, other, ["test_suite.py"], tmp_path, Thresholds(0.03), Budget(5.0, None, 60.0), watcher, 1
        )


def test_real_code_in_another_tree_is_what_runs(tmp_path, watcher, monkeypatch):
    """By the real clock: one side sleeps twice as long."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "package.py").write_text("import time\ndef work():\n    time.sleep(0.002)\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "package.py").write_text("import time\ndef work():\n    time.sleep(0.004)\n")
    write(tmp_path, "from package import work\ndef test_work(benchmark):\n    benchmark(work)\n")
    here = Prepared(".", (), {}, None, False, {})
    there = Prepared("path:tree", (Path("tree").resolve(),), {}, None, False, {})
    seed = random.randrange(1000)
    found = coordinator.run(
        here, there, ["test_suite.py"], tmp_path, Thresholds(0.03), Budget(60.0, None, 60.0), watcher, seed
    )
    (decision,) = found.decisions.values()
    assert decision.judgement.verdict == "slower"
    assert 0 <= found.contention_share <= 1.1


def test_what_a_call_does_more_stands_beside_the_verdict(tmp_path, watcher, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree").mkdir()
    for folder, more in ((tmp_path, ""), (tmp_path / "tree", "x.sum().item()\n    ")):
        (folder / "package.py").write_text(f"def work(x):\n    {more}return x.neg()\n")
    write(
        tmp_path,
        "import torch\nfrom package import work\n"
        "def test_work(benchmark):\n    benchmark(work, torch.ones(9))\n",
    )
    here = Prepared(".", (), {}, None, False, {})
    there = Prepared("path:tree", (Path("tree").resolve(),), {}, None, False, {})
    budget = Budget(6.0, None, 60.0)
    found = coordinator.run(here, there, ["test_suite.py"], tmp_path, Thresholds(0.03), budget, watcher, 1)
    (row,) = found.comparison().rows
    code, note = row.notes
    assert code == "code: work", code
    assert "+1 aten::_local_scalar_dense" in note
    assert "+1 aten::sum" in note
    (one,) = found.as_json()["benchmarks"]
    assert {"name": "aten::sum", "base": 0, "head": 1} in one["counters"]


TWO = """
from package import changed, kept


def test_changed(benchmark):
    benchmark(changed)


def test_kept(benchmark):
    benchmark(kept)


def test_kept_too(benchmark):
    benchmark(kept, 2)
"""
KEPT = "def kept(n=1):\n    return n\n"


@pytest.fixture
def sides(tmp_path, monkeypatch):
    """Two versions of a package of which one function differs."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, TWO)
    for folder, number in ((tmp_path, 100), (tmp_path / "tree", 1000)):
        folder.mkdir(exist_ok=True)
        (folder / "package.py").write_text(f"{KEPT}def changed():\n    return sum(range({number}))\n")
    there = Prepared("path:tree", (Path("tree").resolve(),), {}, None, False, {})
    return Prepared(".", (), {}, None, False, {}), there


def judge(sides, watcher, total=12.0, *, each=20.0, time_all=False):
    budget = Budget(each, total, 60.0)
    folder, thresholds = Path.cwd(), Thresholds(0.03)
    return coordinator.run(
        *sides, ["test_suite.py"], folder, thresholds, budget, watcher, 1, time_all=time_all
    )


def test_benchmarks_that_run_the_same_code_are_same_and_are_not_timed(sides, watcher):
    found = judge(sides, watcher)
    reasons = {name.partition("::")[2]: one.judgement.reason for name, one in found.decisions.items()}
    assert reasons["test_kept"] == reasons["test_kept_too"] == "runs the same code"
    assert list(reasons) == ["test_changed", "test_kept", "test_kept_too"], "in the order of collection"
    pairs = {name.partition("::")[2]: one.pairs for name, one in found.decisions.items()}
    assert pairs.pop("test_changed") > 0
    assert set(pairs.values()) == {0}
    kept, changed = (
        next(one for one in found.as_json()["benchmarks"] if one["id"].endswith(name))
        for name in ("test_kept", "test_changed")
    )
    assert (kept["verdict"], kept["same_code"], kept["ratio"], kept["seconds"]) == ("same", True, None, 0.0)
    assert (changed["same_code"], changed["changed"]["functions"]) == (False, ["package:changed"])
    row = next(row for row in found.comparison().rows if row.fullname.endswith("test_changed"))
    assert row.notes[0] == "code: changed"


def test_the_budget_goes_to_the_others_and_the_correction_counts_only_them(sides, watcher):
    found = judge(sides, watcher, 120.0, each=60.0)
    assert verdicts(found)["test_changed"] == "slower"
    timed = [
        text for text, _ in watcher.steps if text.startswith("timing benchmark") and "pair 1," not in text
    ]
    assert timed
    assert all("timing benchmark 1 of 1" in text for text in timed), timed


def test_all_are_timed_where_that_is_asked_for(sides, watcher):
    found = judge(sides, watcher, time_all=True)
    assert all(one.pairs for one in found.decisions.values())
    assert not any(one.judgement.same_code for one in found.decisions.values())


def test_where_all_run_the_same_code_one_pair_is_enough(sides, watcher):
    found = judge((sides[0], sides[0]), watcher)
    assert {one.judgement.reason for one in found.decisions.values()} == {"runs the same code"}
    assert sum(text.startswith("starting") for text, _ in watcher.steps) == 1


def test_another_setting_is_not_the_same_code(sides, watcher):
    base, head = sides[0], Prepared("env:OMP_DYNAMIC=true", (), {"OMP_DYNAMIC": "true"}, None, False, {})
    found = judge((base, head), watcher)
    assert not any(one.judgement.same_code for one in found.decisions.values())
    row = found.comparison().rows[0]
    assert row.notes[0] == "code: same functions, other settings ($OMP_DYNAMIC)"
