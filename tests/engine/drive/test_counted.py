"""Both sides whose instructions are counted, as processes that answer; the real count is a nightly test."""

import tempfile

import pytest

from gnnbench.engine.drive.inspector import add_instructions
from gnnbench.engine.drive.repeat import Repeat
from gnnbench.engine.drive.result import Result, Side
from gnnbench.engine.judge.comparison import Compared, Comparison
from gnnbench.engine.judge.trial import Trial
from gnnbench.engine.judge.verdict import Judgement, Thresholds
from gnnbench.engine.process.pairs import Pairs
from gnnbench.engine.process.plan import PairSettings
from gnnbench.engine.process.turns import no_benchmark
from gnnbench.engine.show.causes import counting_command
from tests.engine.process.answers import answering, done, valgrind
from tests.engine.process.workers import Watcher, plan, prepared, wait_for_end

COUNTED = {"answer": "counted", "totals": [2000, 2000]}


@pytest.fixture
def sides(tmp_path, monkeypatch):
    """Return a function that sets what both sides answer; on exit, no file of theirs is left."""
    files = tmp_path / "files"
    files.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(files))
    valgrind(monkeypatch, tmp_path)
    yield lambda names, base, head: answering(monkeypatch, tmp_path, names, base=base, head=head)
    assert not list(files.iterdir())


def test_a_benchmark_is_counted_and_why_another_is_not(sides, tmp_path):
    answers = {
        "run ended": done("raised: KeyError"),
        "run skipped": done("not here", skipped=True),
        "run no benchmark": done(),
        "count held": {"answer": "not counted", "reason": "benchmark.pedantic asks for one round"},
        "count raised": done("raised: OSError"),
        "next fails": done("raised afterwards"),
        "next twice": [{"answer": "ready"}, done()],
    }
    names = [key.partition(" ")[2] for key in answers]
    sides(names, answers, {"count twice": COUNTED})
    with (
        Pairs(plan(tmp_path, arguments=["test_a.py"]), Watcher()) as pairs,
        pairs.start(PairSettings(prepared("."), prepared("."), counter="callgrind 3")) as workers,
    ):
        groups = [one.pid for one in workers.children.values()]
        told = {name: workers.count(Trial(name)) for name in (*dict.fromkeys(names), "unknown")}
        base, head = told.pop("twice")  # a second call of `benchmark` is held too, and let go
        assert (base.total, head.total) == (1000, 2000)
        assert told.pop("no benchmark") == no_benchmark("")
        assert {name: (one.kind, one.text) for name, one in told.items()} == {
            "ended": ("failed", "base: raised: KeyError"),
            "skipped": ("failed", "base: not here"),
            "held": ("failed", "base: benchmark.pedantic asks for one round"),
            "raised": ("failed", "base: raised: OSError"),
            "fails": ("failed", "base: raised afterwards"),
            "unknown": ("failed", "base and head: has no such test"),
        }
        assert workers.loaded == {"base": ("package",), "head": ("package",)}
    wait_for_end(*groups)


def test_both_sides_are_counted_until_one_dies(sides, tmp_path):
    names = ["more", "same", "not in head", "once", "dies", "never"]
    once = {"count once": {"answer": "not counted", "reason": "asks for one round"}}
    more = {"count more": COUNTED, "run not in head": done("no", skipped=True)}
    sides(names, once, {**more, **once, "count dies": "no"})
    watcher = Watcher()
    base, head = (prepared(text, tmp_path) for text in ("path:old", "path:new"))
    rows = [Compared(name, Judgement("undecided", "a reason"), None, notes=("a note",)) for name in names]
    repeat = Repeat("path:old", "path:new", options=("--effect", "1%"))
    found = Result("ab", Side.of(base), Side.of(head), Comparison(rows), Thresholds(0.03), repeat=repeat)
    found = add_instructions(found, base, head, plan(tmp_path, arguments=["test_a.py"]), watcher)
    changes = {row.fullname: row.work.instructions for row in found.rows if row.work.instructions}
    assert {name: (one.base, one.head) for name, one in changes.items()} == {"more": (1000, 2000)}
    assert found.rows[0].notes == (*found.rows[0].work.notes(), "a note")
    note = counting_command(found)
    assert note.text == "count the instructions of 5 undecided benchmarks, to see whether they differ"
    assert note.command == (
        "gnnbench ab path:old path:new --effect 1% --instructions -- same 'not in head' once dies never"
    )
    *left_out, ended = found.notes
    assert left_out == [
        "instructions not counted: not in head: head: no",
        "instructions not counted: once: base: asks for one round",
    ]
    assert ended.startswith(
        "instructions of 2 benchmarks not counted: head: ended with exit status 1 while counting"
    )
    assert [text for text, _ in watcher.steps[1:3]] == [
        "counting instructions of benchmark 1 of 6: more",
        "counting instructions of benchmark 2 of 6: same",
    ]
