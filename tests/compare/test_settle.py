"""What accepted slowdowns, in real repositories, and rules that ignore benchmarks do to verdicts."""

import datetime as dt
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from gnnbench.engine.cli.common import exit_code
from gnnbench.engine.drive.settle import Revision, settle
from gnnbench.engine.ground import git
from gnnbench.engine.ground.settings import parse
from gnnbench.engine.judge.accepted import FILE, Accepted, Entry
from gnnbench.engine.judge.comparison import Compared, Comparison
from gnnbench.engine.judge.memory import MemoryChange
from gnnbench.engine.judge.verdict import SAME_CODE, Judgement, Thresholds
from gnnbench.engine.show import wording
from gnnbench.engine.store import accepted
from tests.variants import repositories

TODAY = dt.date(2026, 11, 24)
SLOWER = Judgement("slower", "it is", 1.2, 1.18, 1.22, 1.18, 1.22)
MORE = MemoryChange("more memory", 2**23, 2**23 + 2**20)
ENTRY = f"entry 1 (test_a) of {FILE}"
LOST = f"{ENTRY}; after a rebase, accept it again"


class Repository:
    """A branch `feature` of two commits that are accepted, and of what came later; `main` goes on."""

    def __init__(self, folder):
        self.folder = folder
        base = self.commit("base", code="1")
        self.git("checkout", "-q", "-b", "feature")
        self.commit("slow", code="2")
        self.head = self.commit("more", more="1")
        self.entry = Entry("test_a", 1.2, 1.18, 1.22, base, self.head, "Ada", TODAY, "x", number=1)
        accepted.write(Accepted(folder / FILE), [self.entry])
        self.commit("accept")
        self.git("checkout", "-q", "main")
        self.commit("unrelated", other="1")

    def git(self, *words):
        return repositories.git(self.folder, *words)

    def commit(self, message, **files):
        for name, text in files.items():
            (self.folder / name).write_text(f"{text}\n")
        return repositories.commit_all(self.folder, message)

    def forget_the_branch(self):
        self.git("branch", "-qD", "feature")
        self.git("reflog", "expire", "--expire=now", "--all")
        self.git("gc", "-q", "--prune=now")
        assert git.full_hash(self.folder, self.head) is None

    def settled(self, old, new, found=SLOWER, memory=None, **changes):
        """Return the benchmark as it is settled between two commits, and the lines."""
        entries = Accepted(self.folder / FILE, (replace(self.entry, **changes),))
        sides = tuple(
            Revision(tuple(self.git("rev-parse", one) for one in side.split())) for side in (old, new)
        )
        rows = [Compared(name, found, 1.0, memory=memory, notes=("code",)) for name in ("test_a", "test_b")]
        settled, lines = settle(Comparison(rows), Thresholds(0.03, accepted=entries), sides)
        assert settled.rows[1] == rows[1], "an entry is about its benchmark"
        return settled.rows[0], lines

    def verdict(self, *words, **changes):
        row, lines = self.settled(*words, **changes)
        return row.judgement.verdict, *lines


@pytest.fixture
def repository(monkeypatch, tmp_path):
    repositories.without_settings(monkeypatch)
    (tmp_path / "project").mkdir()
    return Repository(tmp_path / "project")


def test_a_slowdown_within_what_is_accepted_is_accepted_with_its_reason(repository):
    row, lines = repository.settled("main", "feature")
    assert (row.judgement.verdict, row.judgement.reason, lines) == ("accepted", "accepted: x", [])
    assert row.judgement.judged
    assert row.notes == ("accepted 1.20x (1.18-1.22): x", "code")
    more = replace(SLOWER, ratio=1.32, low=1.3, high=1.34)
    row, _ = repository.settled("main", "feature", more)
    assert row.judgement == more
    assert row.notes[0].startswith("1.10x (1.08-1.13) beyond the accepted 1.20x: x")
    other = Judgement("undecided", "too few pairs", 1.2, 1.1, 1.3, 1.1, 1.3)
    assert repository.settled("main", "feature", other)[0].judgement == other


def test_an_entry_is_in_force_if_all_heads_contain_its_commit_and_no_base_does(repository):
    lost = f"not accepted, because the head's history does not have the accepted commit: {LOST}"
    ended = f"ended, because the base already contains what was accepted: {ENTRY}"
    assert repository.verdict("feature~3", "feature~1") == ("accepted",)
    assert repository.verdict("main~1", "main") == ("slower", lost)
    assert repository.verdict("main~1", "main", replace(SLOWER, verdict="same")) == ("same",)
    assert repository.verdict("feature", "feature~1") == ("slower", ended)
    assert repository.verdict("feature", "feature~1", replace(SLOWER, verdict="same")) == ("same", ended)
    # Of sides of several commits:
    assert repository.verdict("main main~1", "feature feature~1") == ("accepted",)
    assert repository.verdict("main feature", "feature") == ("slower", ended)
    assert repository.verdict("main", "feature main") == ("slower", lost)
    verdict, line = repository.verdict("main", "")
    assert verdict == "slower"
    assert f"unknown whether base and head contain it: {ENTRY}; results must name" in line
    repository.git("merge", "-q", "feature")
    assert repository.verdict("HEAD^1", "HEAD") == ("accepted",)


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_squash_contains_it_also_when_the_branch_went_on_and_is_gone(repository, goes_on):
    if goes_on:
        repository.git("checkout", "-q", "feature")
        repository.commit("review", code="3")
        repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--squash", "feature")
    repository.commit("squash")
    repository.commit("later", other="2")
    repository.forget_the_branch()
    assert repository.verdict("HEAD~2", "HEAD") == ("accepted",)
    assert repository.verdict("HEAD~2", "HEAD~1") == ("accepted",)
    assert repository.verdict("HEAD~1", "HEAD")[1].startswith("ended, ")


def test_after_a_rebase_it_must_be_accepted_again(repository):
    repository.git("checkout", "-q", "feature")
    repository.git("rebase", "-q", "main")
    verdict, line = repository.verdict("main", "HEAD")
    assert verdict == "slower"
    assert line.endswith(LOST)
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--ff-only", "feature")
    repository.forget_the_branch()
    assert repository.verdict("HEAD~3", "HEAD") == (verdict, line)


def test_what_git_does_not_know_is_unknown(repository, tmp_path):
    unknown = "not accepted, because it is unknown whether "
    lost = {"base": "e" * 40, "head": "f" * 40}
    assert repository.verdict("main~1", "main", **lost)[1].startswith(unknown)
    repository.git("merge", "-q", "feature")
    repository.commit("later", other="2")
    shallow, head = tmp_path / "shallow", repository.git("rev-parse", "HEAD")
    address = repository.folder.as_uri()
    subprocess.run(["git", "clone", "-q", "--depth=1", address, shallow], check=True, capture_output=True)
    repository.folder = shallow
    assert repository.verdict(head, head)[1].startswith(unknown)


def test_a_benchmark_that_recovered_is_named_with_its_entry(repository):
    fast = Judgement("same", "", 1.01, 0.99, 1.03, 0.99, 1.03)
    start = "test_a is not as slow as accepted any more (1.01x, accepted 1.20x): "
    assert repository.verdict("main", "feature", fast) == ("same", f"{start}remove entry 1 of {FILE}")
    (line,) = repository.settled("main", "feature", SAME_CODE)[1]
    assert "(it runs the same code as the base, accepted 1.20x)" in line


@pytest.mark.parametrize(("ratio", "part"), [(1.2, "more_bytes of entry 1"), (1.0, "entry 1")])
def test_more_memory_within_what_is_accepted_does_not_fail(repository, ratio, part):
    undecided = Judgement("undecided", "")

    def found(verdict, head_bytes, more_bytes=2**20):
        memory = MemoryChange(verdict, 2**23, head_bytes)
        changes = {"ratio": ratio, "low": ratio, "high": ratio, "more_bytes": more_bytes}
        row, lines = repository.settled("main", "feature", undecided, memory, **changes)
        return row.memory.excused, *lines

    assert found("more memory", 2**23 + 2**20) == ("accepted: x",)
    assert found("more memory", 2**23 + 2**20 + 2**15) == ("accepted: x",), "the rest gives no verdict"
    assert found("more memory", 2**23 + 2**21) == (None,)
    assert found("more memory", 2**23 + 2**20, more_bytes=0) == (None,), "of time only"
    line = f"test_a does not need more memory any more: remove {part} of {FILE}"
    assert found("less memory", 2**22) == (None, line)


RULES = """
[[rules]]
benchmarks = "*test_?"
ignore = "waits for the new driver"
until = 2027-01-31
"""
UNDECIDED = Judgement("undecided", "1 pair, a verdict needs 4", 1.1)
INCOMPARABLE = Judgement("incomparable", "not in the baseline")
SAME = Judgement("same", "the interval lies within 3%", 1.0, 0.98, 1.02, 0.99, 1.01, 0.02)


def ruled(*rows, today=TODAY, text=RULES):
    rules = parse(Path("gnnbench.toml"), tomllib.loads(text), today)
    thresholds = Thresholds(0.03, rules=rules)
    return settle(Comparison(list(rows)), thresholds, (Revision(), Revision()))[0]


def row(found, name="test_a", memory=None):
    return Compared(name, found, 1e-3, memory=memory)


@pytest.mark.parametrize("before", [SLOWER, UNDECIDED, INCOMPARABLE])
def test_what_would_fail_is_ignored_and_says_by_which_rule_and_what_it_would_be(before):
    found = ruled(row(before)).rows[0].judgement
    why = "waits for the new driver (rule 1 of gnnbench.toml); without the rule: "
    reason = f"{why}{before.verdict}, {before.reason}"
    assert found == replace(before, verdict="ignored", reason=reason)


def test_what_never_fails_or_has_no_rule_keeps_its_verdict():
    for one in (row(SAME), row(SAME_CODE), row(SLOWER, "test_other")):
        assert ruled(one).rows == [one]
    assert ruled(row(SLOWER), today=dt.date(2027, 2, 1)).rows == [row(SLOWER)], "the rule expired"
    assert ruled(row(SLOWER), today=dt.date(2027, 1, 31)).rows != [row(SLOWER)]


@pytest.mark.parametrize(
    ("ignored", "others", "strict", "code"),
    [
        ([SLOWER, UNDECIDED, INCOMPARABLE], [SAME], True, 0),
        ([INCOMPARABLE], [], True, 0),
        ([SLOWER], [INCOMPARABLE], False, 3),
        ([SLOWER], [UNDECIDED, SAME], True, 3),
        ([INCOMPARABLE], [SLOWER], False, 1),
    ],
)
def test_the_exit_code_is_that_of_the_other_benchmarks(ignored, others, strict, code):
    rows = [*map(row, ignored), *(row(one, "test_other") for one in others)]
    assert exit_code(ruled(*rows), strict=strict) == code


def test_more_memory_of_an_ignored_benchmark_does_not_fail():
    found = ruled(row(SAME, memory=MORE))
    assert found.rows[0].memory.excused == "ignored: waits for the new driver (rule 1 of gnnbench.toml)"
    assert exit_code(found, strict=True) == 0
    assert exit_code(ruled(row(SAME, memory=MORE), today=dt.date(2027, 2, 1)), strict=True) == 1


@pytest.mark.parametrize(
    ("rules", "base", "more", "excused"),
    [
        ("", 11 * 10**6, 154_000, "within the limit of 5.0%"),
        ("", 2**23, 2**23 // 20, "within the limit of 5.0%"),
        ("", 2**23, 2**23 // 20 + 1, None),
        ("", 2**20, 2**16, "within the limit of 64.0 KiB"),
        ("", 0, 2**17, None),
        ("more_memory = '20%'", 2**23, 2**20, "within the limit of 20%"),
        ("more_memory = 0.02", 2**30, 2**25, None),
        ("more_memory_size = '2 MiB'", 2**23, 2**20, "within the limit of 2.0 MiB"),
        ("more_memory_size = '2 MiB'", 2**30, 2**25, "within the limit of 5.0%"),
        ("more_memory = '1%'\nmore_memory_size = '2 MiB'", 2**30, 2**25, None),
    ],
)
def test_more_memory_within_its_limit_does_not_fail_but_is_told(rules, base, more, excused):
    memory = MemoryChange("more memory", base, base + more)
    found = ruled(row(SAME, memory=memory), text=rules and f"[[rules]]\nbenchmarks = '*'\n{rules}")
    (one,) = found.rows
    assert (one.memory, one.is_worse) == (replace(memory, excused=excused), excused is None)
    assert exit_code(found, strict=True) == int(excused is None)
    assert ("needs more memory" in wording.headline([one]).said) == (excused is None)
    assert wording.count([one]).endswith("1 more memory") == (excused is None)
    assert wording.memory_sentence(one.memory).endswith(excused or ")" * bool(base) or "0 B in the base")


def test_accepted_memory_has_the_same_limit(repository):
    memory = MemoryChange("more memory", 2**23, 2**23 + 2**20 + 2**18)
    changes = {"ratio": 1.0, "low": 1.0, "high": 1.0}
    for more_bytes, excused in ((2**20, "accepted: x"), (2**19, None)):
        row, _ = repository.settled("main", "feature", UNDECIDED, memory, **changes, more_bytes=more_bytes)
        assert row.memory.excused == excused
