"""One side whose instructions are counted, as a process that answers; the real count is a nightly test."""

import tempfile

import pytest

from gnnbench.compare.ab import instructions
from gnnbench.compare.ab.counted_side import CountedSide, Side
from gnnbench.compare.ab.turns import no_benchmark
from gnnbench.compare.ab.visit import NotTimed
from gnnbench.errors import UsageError
from gnnbench.measure.instructions import hardware
from gnnbench.measure.instructions.counting import Instructions
from tests.compare.ab.answers import answering, done
from tests.compare.ab.workers import is_gone, prepared

FRAMES = {"answer": "frames", "names": ["a:f", None], "numbers": [100, 900], "files": []}
COUNTED = {"answer": "counted", "totals": [2000, 2000], "files": [], "capability": "avx2"}


@pytest.fixture
def sides(tmp_path, monkeypatch):
    """Return a function that sets what both sides answer; on exit, no file of theirs is left."""
    files = tmp_path / "files"
    files.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(files))
    monkeypatch.setattr(hardware, "why_not", lambda: "")  # the processor counts: no valgrind is started
    yield lambda names, base, head: answering(monkeypatch, tmp_path, names, base=base, head=head)
    assert not list(files.iterdir())


def one(folder, name="base"):
    return CountedSide(Side(["test_a.py"], folder), name)


def test_a_benchmark_is_counted_and_divided_among_functions_when_asked(sides, tmp_path):
    sides(["a"], {"frames": FRAMES, "next": [{"answer": "ready"}, done()]}, {})
    with one(tmp_path) as side:
        assert side.collected()["names"] == ["a"]
        assert side.begin("a") is None
        found = side.count()
        assert (found, side.loaded) == (Instructions(1000), ("package",))
        assert side.with_frames(found).frames["a:f"] == 900
        assert side.end() is None, "a second call of `benchmark` is held too, and let go"
        assert side.begin("a") is None
    assert is_gone(side._child.pid)


def test_why_a_benchmark_is_not_counted(sides, tmp_path):
    answers = {
        "run ended": done("raised: KeyError"),
        "run skipped": done("not here", skipped=True),
        "run no benchmark": done(),
        "count held": {"answer": "not counted", "reason": "benchmark.pedantic asks for one round"},
        "count raised": done("raised: OSError"),
        "frames changes": done("raised: ValueError"),
    }
    names = [key.partition(" ")[2] for key in answers]
    sides(names, {**answers, "next held": done("raised afterwards")}, {})
    with one(tmp_path) as side:
        assert side.begin("unknown") == NotTimed("failed", "has no such test")
        assert side.begin("ended") == NotTimed("failed", "raised: KeyError")
        assert side.begin("skipped") == NotTimed("skipped", "not here")
        assert side.begin("no benchmark") == no_benchmark("")
        assert side.end() is None
        assert side.begin("held") is None
        assert side.count() == NotTimed("skipped", "benchmark.pedantic asks for one round")
        assert side.end() == NotTimed("failed", "raised afterwards")
        assert side.begin("raised") is None
        assert side.count() == NotTimed("failed", "raised: OSError")
        assert side.begin("changes") is None
        found = side.count()
        assert side.with_frames(found) is found
        assert side.end() == NotTimed("failed", "raised: ValueError")


def test_after_an_error_the_process_is_ended_at_once(sides, tmp_path):
    sides([], {}, {})
    with pytest.raises(KeyboardInterrupt), one(tmp_path, "head") as side:
        raise KeyboardInterrupt
    assert is_gone(side._child.pid)


def count(folder, names, *trees):
    told = []
    given = [prepared(text, *trees) for text in ("path:old", "path:new")]
    return instructions.count(*given, ["test_a.py"], folder, names, told.append), told


def test_both_sides_are_counted_until_one_dies(sides, tmp_path):
    names = ["more", "same", "not in head", "once", "dies", "never"]
    once = {"count once": {"answer": "not counted", "reason": "asks for one round"}}
    more = {"count more": COUNTED, "frames more": FRAMES, "run not in head": done("no", skipped=True)}
    sides(names, once, {**more, **once, "count dies": "no"})
    found, told = count(tmp_path, names, tmp_path)
    assert {name: (one.base, one.head) for name, one in found.changes.items()} == {
        "more": (1000, 2000),
        "same": (1000, 1000),
    }
    assert found.counter == hardware.Hardware.name
    *left_out, ended = found.notes
    assert left_out == [
        "instructions not counted: not in head: head: no",
        "instructions not counted: once: base: asks for one round",
    ]
    assert ended.startswith(
        "instructions of 2 benchmarks not counted: ended with exit status 1 while counting"
    )
    assert told[1:3] == [
        "counting instructions of benchmark 1 of 6: more",
        "counting instructions of benchmark 2 of 6: same",
    ]


def test_a_side_of_which_nothing_is_imported_is_refused(sides, tmp_path):
    sides(["a"], {}, {"loaded": []})
    with pytest.raises(UsageError, match="head: the benchmarks import no package of path:new"):
        count(tmp_path, ["a"], tmp_path)
