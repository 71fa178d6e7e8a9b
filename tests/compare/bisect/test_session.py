"""A bisection of candidates whose processes answer what a test says, on a simulated machine."""

from contextlib import contextmanager

import pytest

from gnnbench.compare.bisect.journal import Journal
from gnnbench.compare.bisect.line import Candidate, Cause, Line
from gnnbench.compare.bisect.pairs import Pairs
from gnnbench.compare.bisect.ready import Ready
from gnnbench.compare.bisect.session import Limits, Session
from gnnbench.compare.verdict import Thresholds
from gnnbench.errors import UsageError
from gnnbench.variants.variant import UnbuildableError
from tests.compare.ab.answers import answering, block, done
from tests.compare.ab.workers import Watcher, prepared


class Bisection:
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
    def pairs(self, watcher, seed=0):
        with Ready(self.prepare) as ready:
            yield Pairs(ready, ["test_a.py"], self.folder, self.folder, 60.0, watcher, seed)

    def run(self, total_seconds=1e6, watcher=None):
        watcher = watcher or self.watcher
        limits = Limits(60.0, total_seconds)
        with (
            Journal.held(self.folder / "cache", "one", 7, fresh=False) as journal,
            self.pairs(watcher, journal.seed) as pairs,
        ):
            return Session(self.line, pairs, journal, Thresholds(0.03), limits, watcher).run()


@pytest.fixture
def bisection(tmp_path, monkeypatch):
    return lambda *candidates, **more: Bisection(tmp_path, monkeypatch, candidates, **more)


def times(ms):
    return {"block": [block(ms * (1 + change)) for change in (0.0, 1e-3, 2e-3, 1e-3)]}


OLD, NEW = times(1.0), times(1.3)
BROKEN = {"collected": "not today"}


def places(found, name="a"):
    return [(one.low, one.high) for one in found.spans[name]]


class Interrupting(Watcher):
    """Interrupts the second pair between the ends."""

    def step(self, text, at_most_seconds=None):
        super().step(text, at_most_seconds)
        if sum(" left, at most " in text and "starting" in text for text, _ in self.steps) == 2:
            raise KeyboardInterrupt


def test_a_change_is_found_beside_what_cannot_be_measured_and_after_two_stops(bisection):
    fails = {**NEW, "run a": done("raised: KeyError")}
    made = bisection(OLD, OLD, OLD, BROKEN, "no compiler", fails, NEW, NEW, NEW, NEW, skipped={7})
    found = made.run(total_seconds=1e-3)
    assert (found.pairs, found.unfinished) == (1, "the time is used up")
    assert found.spans == found.compared == {}

    found = made.run(watcher=(watcher := Interrupting()))
    assert watcher.said == ["continuing after 1 pair of an earlier run"]
    assert found.unfinished == "interrupted"
    assert found.compared == {}, "what takes time is left out"

    before = found.pairs
    found = made.run()
    assert made.watcher.said == [f"continuing after {before} pairs of an earlier run"]
    assert found.unfinished is None
    assert found.pairs < 12
    assert places(found) == [(2, 6)]
    (span,) = found.spans["a"]
    assert span.bounds[0] < 1.3 < span.bounds[1]
    assert found.unmeasured == {
        3: "head: ended with exit status 1 while starting: not today",
        4: "no compiler",
        5: "a: head: raised: KeyError",
    }
    assert found.compared[2, 6]["a"].difference.functions == ("work",)
    assert 7 not in made.cleaned, "it is skipped"


def test_a_good_end_that_does_not_start_is_tried_twice(bisection):
    made = bisection(BROKEN, NEW)
    with pytest.raises(UsageError, match=r"^base: .*: not today$"):
        made.run()
    (said,) = made.watcher.said
    assert said.endswith("; restarting both sides")


def test_what_cannot_be_inspected_is_not_compared(bisection):
    made = bisection(
        OLD, NEW | {"inspect b": done("raised: KeyError"), "inspect c": "no"}, BROKEN, names="abcd"
    )
    with made.pairs(made.watcher) as pairs:
        assert pairs.compare(0, 1, ["a", "b", "c", "d"]).keys() == {"a"}
        assert pairs.compare(0, 2, ["a"]) == {}
