"""A bisection of candidates whose processes answer what a test says, on a simulated machine."""

from contextlib import contextmanager

import pytest

from gnnbench.engine.drive.bisect.bisection import Bisection
from gnnbench.engine.drive.bisect.journal import Journal
from gnnbench.engine.drive.bisect.line import Candidate, Cause, Line, Ready
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.process.pairs import Pairs
from gnnbench.engine.process.variants.command import UnbuildableError
from tests.compare.ab.answers import answering, block, costing, done, inspected
from tests.compare.ab.workers import Watcher, prepared
from tests.compare.bisect.results import setting


class Candidates:
    """Candidates, each with the answers of its processes; the first is the good end.

    A candidate whose answers are a text cannot be built.
    """

    def __init__(self, folder, monkeypatch, candidates, names=("a",), skipped=()):
        self.folder, self.watcher = folder, Watcher()
        self.candidates = candidates
        steps = [
            Candidate(f"{number}", f"git:{number}", number and Cause("commit", f"{number}"))
            for number in range(len(candidates))
        ]
        self.line = Line("commit", tuple(steps), frozenset(skipped))
        self.cleaned = []
        sides = {f"at {number}": one for number, one in enumerate(candidates) if isinstance(one, dict)}
        answering(monkeypatch, folder, list(names), **sides)
        for name in sides:
            (folder / name).mkdir()
            (folder / name / "SIDE").write_text(name)

    @contextmanager
    def prepare(self, position):
        if isinstance(self.candidates[position], str):
            raise UnbuildableError(self.candidates[position])
        yield prepared(f"git:{position}", self.folder / f"at {position}")
        self.cleaned.append(position)

    @contextmanager
    def session(self, total_seconds=1e6, watcher=None):
        watcher, its = watcher or self.watcher, setting(self.folder, total_seconds=total_seconds)
        with (
            Journal.held(its.cache, "one", 7, fresh=False) as journal,
            Pairs(its, watcher) as pairs,
            Ready(self.prepare) as ready,
        ):
            yield Bisection(self.line, ready, pairs, journal, its, watcher)

    def run(self, *words, **options):
        with self.session(*words, **options) as session:
            return session.run()


@pytest.fixture
def bisection(tmp_path, monkeypatch):
    return lambda *candidates, **more: Candidates(tmp_path, monkeypatch, candidates, **more)


def times(ms):
    """Return answers: `a` takes so many milliseconds, `b` is skipped, and `c` is the same everywhere."""
    blocks = [block(ms * (1 + change)) for change in (0.0, 1e-3, 2e-3, 1e-3)]
    others = {"run b": done("no GPU", skipped=True), "inspect c": inspected(work="as ever")}
    return {"block": blocks, **others}


OLD, NEW = times(1.0), times(1.3)
BROKEN = {"collected": "not today"}


class Interrupting(Watcher):
    """Interrupts the second pair between the ends."""

    def step(self, text, at_most_seconds=None):
        super().step(text, at_most_seconds)
        if sum(" left, at most " in text and "starting" in text for text, _ in self.steps) == 2:
            raise KeyboardInterrupt


def test_a_change_is_found_beside_what_cannot_be_measured_and_after_two_stops(bisection):
    fails = {**NEW, "run a": done("raised: KeyError")}
    versions = (OLD, OLD, OLD, BROKEN, "no compiler", fails, NEW, NEW, NEW, NEW)
    made = bisection(*versions, names="abc", skipped={7})
    found = made.run(total_seconds=1e-3)
    assert (found.pairs, found.unfinished) == (1, "the time is used up")
    assert found.findings == ()

    found = made.run(watcher=(watcher := Interrupting()))
    assert watcher.said == ["continuing after 1 pair of an earlier run"]
    assert found.unfinished == "interrupted"
    assert not any(one.inspections for one in found.findings), "what takes time is left out"

    before = found.pairs
    found = made.run()
    assert made.watcher.said == [f"continuing after {before} pairs of an earlier run"]
    assert found.unfinished is None
    assert found.pairs < 12
    verdicts = {name: one.judgement.verdict for name, one in found.decisions.items()}
    assert verdicts == {"a": "slower", "c": "same"}
    assert found.notes == ("skipped on both sides, and left out: 1 benchmark (no GPU)",)
    (one,) = found.findings
    assert (one.before.name, one.after.name, len(one.causes)) == ("2", "6", 4)
    low, high = one.changes["a"].bounds
    assert low < 1.3 < high
    assert found.unmeasured == {
        "3": "head: ended with exit status 1 while starting: not today",
        "4": "no compiler",
        "5": "a: head: raised: KeyError",
    }
    assert one.inspections["a"].work.changed.functions == ("work",)
    assert 7 not in made.cleaned, "it is skipped"


def test_what_costs_more_with_the_same_code_is_timed_and_found(bisection):
    def costly(ms, lines):
        return {**times(ms), "inspect": inspected(work="same"), "cost": costing(lines)}

    old, new = costly(1.0, 100), costly(1.3, 400)
    found = bisection(old, old, old, new, new).run()
    assert found.decisions["a"].judgement.verdict == "slower"
    (one,) = found.findings
    assert (one.before.name, one.after.name) == ("2", "3")
    assert one.inspections["a"].work.cost == pytest.approx(4, rel=0.05)


def test_a_good_end_that_does_not_start_is_tried_twice(bisection):
    made = bisection(BROKEN, NEW)
    with pytest.raises(UsageError, match=r"^base: .*: not today$"):
        made.run()
    (said,) = made.watcher.said
    assert said.endswith("; restarting both sides")


def test_a_good_end_that_can_run_no_benchmark_is_refused_with_its_reason(bisection):
    failing = {**OLD, "run a": done("raised: ModuleNotFoundError: no old"), "run c": done("raised: KeyError")}
    said = (
        r"^the good end \(0\) cannot run a: base: raised: ModuleNotFoundError: no old; give one that can as"
    )
    with pytest.raises(UsageError, match=said):
        bisection(failing, NEW, names="abc").run()


def test_a_good_end_that_can_run_some_benchmarks_is_searched(bisection):
    found = bisection({**OLD, "run a": done("raised: KeyError")}, NEW, names="ac").run()
    verdicts = {name: one.judgement.verdict for name, one in found.decisions.items()}
    assert verdicts == {"a": "incomparable", "c": "same"}


def test_what_cannot_be_inspected_is_not_compared(bisection):
    made = bisection(OLD, NEW | {"inspect c": "no"}, BROKEN, names="abcd")
    with made.session() as session:
        assert session._inspected(0, 1, ["a", "b", "c", "d"]).keys() == {"a"}
        assert session._inspected(0, 2, ["a"]) == {}


def test_the_candidates_that_were_used_longest_ago_are_cleaned_up_first():
    cleaned = []

    @contextmanager
    def prepare(position):
        yield f"candidate {position}"
        cleaned.append(position)

    with Ready(prepare) as ready:
        for position in (0, 1, 2, 3, 4, 5, 6, 1):
            assert ready.get(position) == f"candidate {position}"
        ready.forget((0, 1))
        assert cleaned == [2]
        ready.forget(())
        assert cleaned == [2, 0, 3], "four are kept beside those in use"
    assert sorted(cleaned) == list(range(7))
