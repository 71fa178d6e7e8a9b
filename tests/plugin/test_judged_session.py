"""What a session makes of verdicts in turns, which come from results that were not timed."""

import re
from dataclasses import replace
from functools import partial

import pytest

from gnnbench.engine.ground import codec
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.ground.settings import Rule, Settings
from gnnbench.engine.judge.choosing import NOT_REACHED
from gnnbench.engine.judge.comparison import Compared, Comparison
from gnnbench.engine.judge.verdict import SAME_CODE, Judgement, Thresholds
from gnnbench.engine.measure.sources import Sources, Tree
from gnnbench.engine.plugin.judged_session import JudgedSession
from gnnbench.engine.plugin.session import here
from gnnbench.engine.plugin.timing import Timing
from gnnbench.engine.plugin.turns import TimedGroup
from gnnbench.engine.process.variants import variant
from gnnbench.engine.process.variants.prepare import Prepared
from gnnbench.engine.store import accepted
from gnnbench.engine.store.baseline import FOLDER, RecordStore
from tests import run_files
from tests.cli import saved
from tests.plugin import recorded

OLD = "a" * 40
LEFT = Judgement("undecided", NOT_REACHED)
FAILED = Judgement("incomparable", "base: it raised ValueError")


def sources(commit, *others):
    return Sources("3.11", (Tree(".", commit, 0, ("library",), compiled=False), *others), {})


def entries(versions, threads="2"):
    """Return benchmarks by id, each of which runs a function of this version."""
    prints = {
        name: run_files.fingerprint(threads=threads, **{name: version}) for name, version in versions.items()
    }
    found = [run_files.entry(name, seed=1, fingerprint=one) for name, one in prints.items()]
    return {one["fullname"]: one for one in found}


@pytest.fixture
def start(known):
    """Return a function that begins a session, of versions of benchmarks and with options."""
    known.makepyfile(test_a="")
    return partial(Session, known)


class Session:
    """A session whose code is that of a commit with a changed file."""

    def __init__(self, known, versions, *arguments):
        words = ("--benchmark-compare=.", "--gnn-device=cpu", "--gnn-confirm=0", *arguments)
        self.config = known.parseconfigure(*words)
        self._root, self._versions = known.path, versions
        self.gone = set()
        """What the command line selects of what this session lacks."""
        thresholds = Thresholds(0.03, accepted=accepted.find(self._root))
        timed = {name: one["extra_info"] for name, one in entries(versions).items()}
        self.judged = JudgedSession(self.config, thresholds, timed)

    def record(self, versions, then, threads="2", **environment):
        """Save a record of these versions of benchmarks, and take what is saved as the base."""
        content = run_files.content(
            *entries(versions, threads).values(), **{**here(self.config), **environment}
        )
        content["machine_info"], content["gnnbench"]["sources"] = run_files.MACHINE, codec.encode(then)
        content["gnnbench"]["covers"] = []
        recorded.save(self._root, content, 2)
        vanished = {f"test_a.py::{name}": name in self.gone for name in versions.keys() - self._versions}
        self.judged.add_records(RecordStore(self._root / FOLDER).records()[::-1], lambda _runs: vanished)

    def judge(self, decided, **changes):
        """Judge by what came out in turns: judgements or decisions by name; None: they could not run."""
        ids = {f"test_a.py::{name}": one for name, one in (decided or {}).items()}
        result = saved.result(**changes)
        rows = [
            Compared(name, one, None, counts=replace(saved.COUNTS, decided=one != LEFT))
            for name, one in ids.items()
        ]
        result = replace(result, comparison=Comparison(rows))
        commit = result.base.commits[0]
        base = Prepared(result.base.text, (self._root,), {}, commit, dirty=False, versions={})

        failure = "" if decided else "it does not build"
        found = result if decided else None
        self.judged.take([TimedGroup(one, found, base, failure) for one in self.judged.groups])
        self.judged.judge([])
        return {row.fullname.partition("::")[2]: row for row in self.judged.comparison.rows}


@pytest.mark.parametrize("left", [1, 6])
def test_a_variant_is_the_base_of_all_and_what_is_left_goes_on_by_a_command(start, left):
    names = ["slow", "kept", *(f"late{number}" for number in range(left))]
    session = start(dict.fromkeys(names, 1), "test_a.py")
    session.judged.add_variant(variant.parse("git:main"))
    assert {row.judgement for row in session.judged.comparison.rows} == {LEFT}
    late = dict.fromkeys(names[2:], LEFT)
    rows = session.judge({"slow": saved.SLOWER, "kept": SAME_CODE, **late}, needed_seconds=700.5)
    assert {name: row.judgement.verdict for name, row in rows.items()} == {
        "slow": "slower",
        "kept": "same",
        **dict.fromkeys(late, "undecided"),
    }
    assert rows["slow"].seconds == pytest.approx(1e-3, rel=0.1), "the session's time, as turns have none"
    ours = session.judged
    assert ours.differences == ["since git:main: this project aaaaaaa → ccccccc and 1 changed file"]
    count = "1 benchmark" if left == 1 else f"{left} benchmarks"
    timed, again, power = ours.lines
    assert power.startswith("this run could see a slowdown of ")
    assert timed == f"{left + 1} benchmarks timed in turns with git:main: 1 decided, in 20.0 s"
    assert again.startswith(f"to time {count} for longer: pytest --gnn-device=cpu ")
    assert again.endswith(" --benchmark-compare=git:main --gnn-budget=701")
    assert re.findall(r"test_a\S+", again) == (["test_a.py::late0"] if left == 1 else ["test_a.py"])
    assert ours.row_as_json(rows["slow"])["against"] == "git:main"
    assert ours.row_as_json(rows["slow"])["base"] == {"commits": (OLD,), "dirty": False}
    assert [one["against"] for one in ours.as_json()["turns"]] == ["git:main"]


@pytest.mark.parametrize(("given", "place"), [(["./test_a.py"], "./test_a.py"), ([], ".")])
def test_what_selects_a_slower_benchmark_alone_is_in_its_command_else_its_id_is(start, given, place):
    for versions, expected in (({"slow": 1}, place), ({"slow": 1, "kept": 1}, "test_a.py::slow")):
        session = start(versions, *given)
        session.judged.add_variant(variant.parse("git:main"))
        rows = session.judge({name: saved.SLOWER if name == "slow" else SAME_CODE for name in versions})
        command = session.judged.sentence(rows["slow"]).partition("; repeat: ")[2]
        command = re.sub(r" --basetemp=\S+", "", command)  # pytester's
        assert command == f"gnnbench ab git:main . -- --gnn-device=cpu {expected}"


def test_a_variant_needs_turns_and_a_benchmark(start):
    with pytest.raises(UsageError, match=r"^git:main can be compared in turns only: leave out --gnn-turns"):
        start({}, "--gnn-turns=never").judged.add_variant(variant.parse("git:main"))
    empty, other = (start(versions) for versions in ({}, {"one": 1}))
    for session in (empty, other):
        session.judged.add_variant(variant.parse("git:main"))
    assert empty.judge(None) == {}
    with pytest.raises(UsageError, match=r"^it does not build$"):
        other.judge(None)


def test_turns_do_not_judge_what_they_could_not_build_or_run_as_it_was_recorded(start):
    """The record's code differed, although today's tree and the commit that was built again do not."""
    names = ("kept", "slow", "same", "broken", "failed", "ended")
    session = start(dict.fromkeys(names, 2))
    session.record(dict.fromkeys(names, 1) | {"kept": 2}, sources(OLD))
    first = {row.fullname.partition("::")[2]: row for row in session.judged.comparison.rows}
    ended = replace(FAILED, reason="base: its process ended")
    found = {"slow": saved.SLOWER, "same": SAME_CODE, "broken": FAILED, "failed": FAILED, "ended": ended}
    rows = session.judge(found)
    across = "compared with the times of record 0001 only: "
    assert [line for line in session.judged.lines if across in line] == [
        f"test_a.py::same {across}the code that differs could not be built again",
        f"2 benchmarks {across}base: it raised ValueError",
        f"test_a.py::ended {across}base: its process ended",
    ]
    assert rows["slow"].judgement == saved.SLOWER
    assert rows["kept"].judgement.same_code
    assert not rows["same"].judgement.same_code
    by_times = {name: row.judgement.ratio for name, row in rows.items() if name not in ("slow", "kept")}
    assert by_times == {name: first[name].judgement.ratio for name in by_times}
    assert None not in by_times.values()
    told = {name: session.judged.row_as_json(row) for name, row in rows.items()}
    assert [name for name, one in told.items() if one["in_turns"]] == ["slow"]
    assert {one["against"] for one in told.values()} == {"0001"}
    assert told["slow"]["base"] == {"commits": (OLD,), "dirty": False}


def test_a_base_that_cannot_be_built_leaves_the_times_of_the_record(start):
    session = start({"one": 2})
    session.record({"one": 1}, sources(OLD))
    session.judge(None)
    said = "1 benchmark compared with the times of record 0001 only: it does not build"
    assert session.judged.lines[1:] == [said]


def test_code_without_git_is_not_built_again_so_that_benchmarks_must_run_the_same_of_it(start, monkeypatch):
    suite = Tree("../suite", None, 0, ("suite",), compiled=False)
    monkeypatch.setattr(Timing, "sources", lambda _self: sources("c" * 40, suite))
    session = start({"kept": 2, "changed": 2})
    session.record({"kept": 2, "changed": 1}, sources(OLD, suite), threads="1")
    described, alone, *timed = session.judged.plan()
    assert described.startswith("2 benchmarks compared with record 0001 of ")
    only = "1 benchmark compared with the times of record 0001 only: they run other code of suite, which is"
    assert alone == f"{only} not in git"
    assert timed[:2] == [
        "dry run: would time 1 benchmark in turns with record 0001:",
        "  test_a.py::kept",
    ]


def test_the_same_code_needs_no_turns_and_each_benchmark_has_the_newest_record_that_has_it(start):
    session = start({"one": 1, "two": 1}, "--gnn-turns=never")
    session.record({"one": 1, "two": 2}, sources(OLD))
    session.record({"one": 1}, sources(OLD))
    newer, older, across, same = session.judged.plan()
    assert newer.startswith("1 benchmark compared with record 0002 of ")
    assert older.startswith("1 benchmark compared with record 0001 of ")
    assert across == "1 benchmark compared with the times of record 0001 only: --gnn-turns never"
    assert same == "dry run: 1 benchmark with the same code"


@pytest.mark.parametrize(
    ("then", "gone", "failed", "said"),
    [
        (
            {"old": 2},
            {"old"},
            (),
            "1 benchmark of the record not timed (test_a.py::old), and 1 benchmark new",
        ),
        ({"old": 2, "older": 2}, {"old", "older"}, {"old"}, "1 benchmark of the record not timed (test_a.py"),
        ({"old": 2}, {"old"}, {"old"}, ""),
        ({"old": 2}, set(), (), ""),
        ({}, set(), (), ""),
        ({"old": 2, "ignored": 2}, {"ignored"}, (), ""),
    ],
    ids=["gone", "two", "failed", "not selected", "new", "ignored"],
)
def test_what_vanished_while_others_appeared_is_said_with_what_renews_the_record(
    start, then, gone, failed, said
):
    session = start({"kept": 1, "new": 1}, "--gnn-turns=never")
    rules = (Rule(1, "*::ignored", ignore="gone"),)
    session.judged._thresholds = replace(session.judged._thresholds, rules=Settings(rules=rules))
    session.gone = gone
    session.record({"kept": 1, **then}, sources(OLD))
    text = session.judged.unknown({f"test_a.py::{name}" for name in failed})
    assert text.startswith(said)
    if said:
        assert (
            " new (test_a.py::new), alike neither in code nor in definition and parameters; if meant" in text
        )
        assert "record again: gnnbench baseline record -- " in text
    else:
        assert not text
    rows = {row.fullname.partition("::")[2]: row.judgement.reason for row in session.judged.comparison.rows}
    assert rows.keys() == {"kept", "new", *gone}
    assert all("missing: in the baseline" in rows[name] for name in gone)


def test_one_that_is_deleted_is_only_said(start):
    session = start({"kept": 1}, "--gnn-turns=never")
    session.gone = {"old"}
    session.record({"kept": 1, "old": 1}, sources(OLD))
    assert session.judged.unknown(()) == ""
    assert {row.fullname for row in session.judged.comparison.rows} == {"test_a.py::kept", "test_a.py::old"}


def test_the_times_of_a_record_with_other_settings_are_not_compared(start):
    session = start({"one": 2}, "--gnn-turns=never")
    session.record({"one": 1}, sources(OLD), wait_policy="ACTIVE")
    _, across, other = session.judged.lines
    assert across == "1 benchmark not compared: --gnn-turns never"
    assert other.startswith("the times of the record are not compared: other settings, ")
    assert session.judge(None)["one"].judgement.verdict == "incomparable"
