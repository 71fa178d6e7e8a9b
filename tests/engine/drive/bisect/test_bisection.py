"""A bisection of candidates whose processes answer what a test says, on a simulated machine."""

import json
import random
from contextlib import contextmanager
from itertools import count
from unittest.mock import Mock

import pytest

from gnnbench.engine.drive.bisect import bisection as module
from gnnbench.engine.drive.bisect.history import Candidate, Cause, History
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.ground.settings import Rule, Settings
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.process.variants.variant import Commit
from tests.engine.drive.bisect.results import setting
from tests.engine.process.answers import answering, block, costing, done, inspected
from tests.engine.process.workers import Watcher, prepared


@pytest.fixture
def bisection(tmp_path, monkeypatch):
    """Return a function that makes candidates, each with the answers of its processes; the first is good.

    A candidate whose answers are a text cannot be built. It returns a function that bisects them.
    """

    def make(*candidates, names=("a",)):
        steps = [
            Candidate(f"{number}", f"git:{number}", number and Cause("commit", f"{number}"))
            for number in range(len(candidates))
        ]
        sides = {f"at {number}": one for number, one in enumerate(candidates) if isinstance(one, dict)}
        answering(monkeypatch, tmp_path, list(names), **sides)
        for name in sides:
            (tmp_path / name).mkdir()
            (tmp_path / name / "SIDE").write_text(name)

        @contextmanager
        def prepare(variant, _root, _watcher, *, build, **_options):
            assert build == "make"
            number = int(variant.of(Commit)[0].ref)
            if isinstance(candidates[number], str):
                raise UsageError(candidates[number])
            yield prepared(f"git:{number}", tmp_path / f"at {number}")

        monkeypatch.setattr(module.prepare, "prepared", prepare)
        monkeypatch.setattr(module.History, "between", lambda *_: History(tuple(steps)))

        def run(watcher=None, ends=None, **more):
            plan = setting(tmp_path, build="make", **more)
            return module.run("git:good", "git:bad", plan, watcher or Watcher(), ends)

        return run

    return make


def times(ms):
    """Return answers: `a` takes so many milliseconds, `b` is skipped, and `c` is the same everywhere."""
    blocks = [block(ms * (1 + change)) for change in (0.0, 1e-3, 2e-3, 1e-3)]
    others = {"run b": done("no GPU", skipped=True), "inspect c": inspected(work="as ever")}
    return {"block": blocks, **others}


OLD, NEW = times(1.0), times(1.3)
FAILS = {**NEW, "run a": done("raised: KeyError")}
VERSIONS = (OLD, OLD, OLD, {"collected": "not today"}, "no compiler", FAILS, NEW, NEW, NEW, NEW)


def places(found):
    return [(one.before.name, one.after.name, list(one.changes)) for one in found.findings]


def test_a_change_is_found_beside_what_cannot_be_measured(bisection):
    rules = Settings(rules=(Rule(1, "d", ignore="known"),))
    found = bisection(*VERSIONS, names="abcd")(thresholds=Thresholds(0.03, rules=rules))
    verdicts = {row.fullname: row.judgement.verdict for row in found.ends.rows}
    assert verdicts == {"a": "slower", "c": "same", "d": "ignored"}
    assert found.notes == ("1 benchmark skipped on both sides (no GPU)",)
    assert places(found) == [("2", "6", ["a"])]
    change = found.findings[0].changes["a"]
    assert change.bounds[0] < 1.3 < change.bounds[1]
    assert change.work.changed.functions == ("work",)
    assert len(found.findings[0].causes) == 4
    assert found.unmeasured["4"] == "no compiler"
    assert found.unmeasured["5"] == "a: head: raised: KeyError"
    assert "not today" in found.unmeasured["3"]


def test_ends_that_were_compared_are_not_compared_again(bisection, monkeypatch):
    run = bisection(OLD, NEW, NEW)
    first = run()
    monkeypatch.setattr(module.coordinator, "run", Mock(side_effect=AssertionError))
    again = run(ends=first.ends)
    assert (again.ends, places(again)) == (first.ends, [("0", "1", ["a"])])


class Interrupting(Watcher):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def step(self, text, at_most_seconds=None):
        super().step(text, at_most_seconds)
        if len(self.steps) == self.number:
            raise KeyboardInterrupt


def test_stopped_at_random_places_it_ends_with_the_same_answer(bisection, tmp_path):
    run, draws, stops = bisection(OLD, OLD, FAILS, NEW), random.Random(5), 0
    while (found := run(watcher := Interrupting(draws.randrange(4, 14) if stops else 20))).unfinished:
        stops += 1
        assert stops < 20
        (file,) = (tmp_path / "cache/bisect").iterdir()
        saved = json.loads(file.read_text())
        saved["measured"].append({"position": 1, "broken": "a full disk, until now"})
        file.write_text(json.dumps(saved))
    assert stops > 1
    assert any(said.startswith("continuing an earlier run that compared GOOD") for said in watcher.said)
    assert places(found) == [("1", "3", ["a"])]
    run(watcher := Watcher())
    assert not any(said.startswith("continuing") for said in watcher.said), "it is finished"


def test_when_its_time_is_used_up_what_is_known_is_the_answer(bisection, monkeypatch):
    monkeypatch.setattr(module, "RealTime", Mock(seconds=Mock(side_effect=count(step=1000))))
    found = bisection(OLD, OLD, NEW)(total_seconds=999.0)
    assert found.unfinished == "the time is used up"
    assert places(found) == [("0", "2", ["a"])]


def test_a_state_belongs_to_the_ends_the_setting_and_the_suite_as_it_is(tmp_path, monkeypatch):
    def key(end="git:a", *arguments, installed="", **more):
        monkeypatch.setattr(module, "digest", lambda *_: installed)
        line = History((Candidate("good", "git:good"), Candidate("bad", end)))
        return module.state_file(line, setting(tmp_path, arguments=arguments, **more))

    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "test_a.py").write_text("1")
    keys = {
        key("git:a", "suite"),
        key("git:b", "suite"),
        key(),
        key(thresholds=Thresholds(0.05)),
        key(dependencies=True),
        key(installed="numpy"),
    }
    (tmp_path / "suite" / "test_a.py").write_text("2")
    keys.add(key("git:a", "suite"))
    (tmp_path / "conftest.py").write_text("")
    keys |= {key("git:a", "suite"), key(), key("git:a", "suite/test_a.py::test")}
    (tmp_path / "suite" / "made.py").touch()
    keys |= {key("git:a", "suite/test_a.py::test"), key()}
    assert len(keys) == 11


def test_what_costs_more_with_the_same_code_is_timed_and_found(bisection):
    def costly(ms, lines):
        return {**times(ms), "inspect": inspected(work="same"), "cost": costing(lines)}

    old, new = costly(1.0, 100), costly(1.3, 400)
    found = bisection(old, old, old, new, new)()
    assert places(found) == [("2", "3", ["a"])]
    assert found.findings[0].changes["a"].work.cost == pytest.approx(4, rel=0.05)


def test_a_good_end_that_can_run_no_benchmark_is_refused_with_its_reason(bisection):
    failing = {**OLD, "run a": done("raised: ModuleNotFoundError: no old"), "run c": done("raised: KeyError")}
    said = r"^GOOD and BAD cannot be compared: a: base: raised: ModuleNotFoundError: no old; give two that"
    with pytest.raises(UsageError, match=said):
        bisection(failing, NEW, names="ac")()
