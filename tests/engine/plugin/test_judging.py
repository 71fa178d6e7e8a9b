"""What is made of verdicts in turns, which come from results that were not timed."""

from dataclasses import replace
from functools import partial

import pytest

from gnnbench.engine.drive.gate import Judging, base_of
from gnnbench.engine.drive.repeat import Repeat
from gnnbench.engine.ground import codec
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.judge.comparison import Agreement, Compared, Comparison
from gnnbench.engine.judge.selection import NOT_REACHED
from gnnbench.engine.judge.verdict import SAME_CODE, Judgement, Thresholds
from gnnbench.engine.measure.sources import Sources, Tree
from gnnbench.engine.plugin import records
from gnnbench.engine.plugin.limits import GATE
from gnnbench.engine.plugin.session import session_environment
from gnnbench.engine.process.variants import variant
from gnnbench.engine.store import accepted
from gnnbench.engine.store.baseline import FOLDER, RecordStore
from tests import run_files
from tests.engine.cli import saved
from tests.engine.plugin import recorded

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
        self.gate = self.config.pluginmanager.get_plugin(GATE)
        self._root = known.path
        self._turns = "--gnn-turns=never" not in arguments
        self.thresholds = Thresholds(0.03, accepted=accepted.find(self._root))
        timed = {name: one["extra_info"] for name, one in entries(versions).items()}
        self.head = records.as_run_file(self.config, timed)

    def compare(self, base):
        """Take a base, and return what judges."""
        self.judged = Judging(self.head, base, self.thresholds, turns=self._turns)
        return self.judged

    def variant(self, text="git:main"):
        return self.compare(base_of(variant.parse(text)))

    def record(self, versions, then, threads="2", **environment):
        """Save a record of these versions of benchmarks, and take what is saved as the base."""
        content = run_files.content(
            *entries(versions, threads).values(), **{**vars(session_environment(self.config)), **environment}
        )
        content["machine_info"], content["gnnbench"]["sources"] = run_files.MACHINE, codec.encode(then)
        recorded.save(self._root, content, 2)
        newest, _ = RecordStore(self._root / FOLDER).nearest(session_environment(self.config))
        return self.compare(base_of(newest))

    def judge(self, decided, **changes):
        """Judge by what came out in turns: judgements or decisions by name; None: they could not run."""
        ids = {f"test_a.py::{name}": one for name, one in (decided or {}).items()}
        result = saved.result(**changes)
        rows = [
            Compared(name, one, None, counts=replace(saved.COUNTS, decided=one != LEFT))
            for name, one in ids.items()
        ]
        result = replace(result, comparison=Comparison(rows))
        if self.judged.names and decided:
            self.judged.use_result(result)
            self.judged.lines += map(str, self.gate._in_turns(self.judged, result))
        elif self.judged.names:
            self.judged.use_record("it does not build")
        self.judged.judge()
        return {row.fullname.partition("::")[2]: row for row in self.judged.comparison.rows}


def test_a_variant_is_the_base_of_all_and_what_is_left_goes_on_by_a_command(start):
    session = start(dict.fromkeys(("slow", "kept", "late"), 1), "test_a.py")
    ours = session.variant()
    repeat = Repeat("git:main", ".", places=("test_a.py",))
    decided = {"slow": saved.SLOWER, "kept": SAME_CODE, "late": LEFT}
    rows = session.judge(decided, needed_seconds=700.5, repeat=repeat)
    verdicts = {name: row.judgement.verdict for name, row in rows.items()}
    assert verdicts == {"slow": "slower", "kept": "same", "late": "undecided"}
    assert rows["slow"].seconds == pytest.approx(1e-3, rel=0.1), "the session's time, as turns have none"
    timed, again = ours.lines
    assert timed == "2 benchmarks timed in turns with git:main: 1 decided, in 20.0 s"
    assert again.startswith("to time 1 benchmark for longer: pytest --gnn-device=cpu test_a.py ")
    assert again.endswith(" --benchmark-compare=. --gnn-budget=701")
    assert (ours.result.base.text, ours.result.base.commits) == ("git:main", (OLD,))
    assert (ours.result.seconds, ours.result.repeat) == (20.0, repeat)
    sentence = session.gate._sentence(ours, rows["slow"])
    assert sentence.text.endswith(" [git:main]; repeat")
    assert sentence.command == "gnnbench ab git:main . -- test_a.py::slow"


def test_a_variant_needs_turns_and_a_benchmark(start):
    with pytest.raises(UsageError, match=r"^git:main can only be timed in turns: leave out --gnn-turns"):
        start({}, "--gnn-turns=never").variant()
    empty, other = (start(versions) for versions in ({}, {"one": 1}))
    for session in (empty, other):
        session.variant()
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
    across = "compared only with the times of record 0001: "
    assert [line for line in session.judged.lines if across in line] == [
        f"1 benchmark {across}the code that differs could not be rebuilt",
        f"2 benchmarks {across}base: it raised ValueError",
        f"1 benchmark {across}base: its process ended",
    ]
    assert rows["slow"].judgement == saved.SLOWER
    assert rows["kept"].judgement.same_code
    assert not rows["same"].judgement.same_code
    by_times = {name: row.judgement.ratio for name, row in rows.items() if name not in ("slow", "kept")}
    assert by_times == {name: first[name].judgement.ratio for name in by_times}
    assert None not in by_times.values()
    assert [name for name, row in rows.items() if row.counts] == ["slow"]
    base = session.judged.result.base
    assert (base.text, base.commits) == ("record 0001", (OLD,))


def test_a_head_that_fails_in_turns_is_worse_whatever_the_times_of_the_record(start):
    session = start({"one": 2})
    session.record({"one": 1}, sources(OLD))
    fails = Agreement("differ", "fails in the head, but not in the base: it raised ValueError")
    row = Compared("test_a.py::one", FAILED, None, results=fails)
    session.judged.use_result(replace(saved.result(), comparison=Comparison([row])))
    session.judged.judge()
    assert [row.is_worse for row in session.judged.comparison.rows] == [True]


def test_what_the_newest_record_lacks_is_timed_in_turns_with_its_code(start):
    session = start({"one": 1, "two": 1, "new": 1})
    session.record({"one": 1, "two": 2}, sources(OLD))
    session.record({"one": 1}, sources(OLD))
    (described,) = session.judged.lines
    assert described.startswith("1 benchmark compared with record 0002 of ")
    assert {*session.judged.names} == {"test_a.py::two", "test_a.py::new"}
    rows = session.judge({"two": saved.SLOWER, "new": FAILED})
    assert (rows["two"].judgement, rows["new"].judgement.reason) == (saved.SLOWER, "new: not in the baseline")


def test_the_times_of_a_record_with_other_settings_are_not_compared(start):
    session = start({"one": 2}, "--gnn-turns=never")
    session.record({"one": 1}, sources(OLD), wait_policy="ACTIVE")
    _, across, other = session.judged.lines
    assert across == "1 benchmark not compared: --gnn-turns never"
    assert other.startswith("the record's times are not compared, because settings differ: ")
    assert session.judge(None)["one"].judgement.verdict == "incomparable"
