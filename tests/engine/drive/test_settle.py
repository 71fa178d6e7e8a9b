"""What accepted slowdowns, in real repositories, and rules that ignore benchmarks do to verdicts."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from gnnbench.engine.cli.common import exit_code
from gnnbench.engine.drive.result import Result, Side
from gnnbench.engine.drive.settle import apply_excuses
from gnnbench.engine.ground.settings import parse
from gnnbench.engine.judge.accepted import FILE, Accepted, Entry
from gnnbench.engine.judge.comparison import Agreement, Compared, Comparison
from gnnbench.engine.judge.memory import MemoryChange
from gnnbench.engine.judge.verdict import SAME_CODE, Judgement, Thresholds
from gnnbench.engine.show import wording
from gnnbench.engine.store import accepted
from tests.engine.process.variants import repositories

SLOWER = Judgement("slower", "it is", 1.2, 1.18, 1.22, 1.18, 1.22)
MORE = MemoryChange("more memory", 2**23, 2**23 + 2**20)
ENTRY = f"entry 1 (test_a) of {FILE}"


class Repository:
    """A branch `feature` with a slow commit, and a commit that accepts it; `main` goes on."""

    def __init__(self, folder):
        self.folder = folder
        self.commit("base", code="1")
        self.git("checkout", "-q", "-b", "feature")
        self.commit("slow", code="2")
        self.accept()
        self.commit("accept")

    def git(self, *words):
        return repositories.git(self.folder, *words)

    def commit(self, message, **files):
        for name, text in files.items():
            (self.folder / name).write_text(f"{text}\n")
        return repositories.commit_all(self.folder, message)

    def accept(self, **changes):
        (self.folder / FILE).unlink(missing_ok=True)
        accepted.write(
            Accepted(self.folder / FILE), [replace(Entry("test_a", "x", 1.2, 1.18, 1.22), **changes)]
        )

    def excused(self, old="main", new="feature", found=SLOWER, memory=None):
        """Return the benchmark with its excuses between two commits, and the lines."""
        sides = [Side(side, tuple(self.git("rev-parse", one) for one in side.split())) for side in (old, new)]
        rows = [Compared(name, found, 1.0, memory=memory, notes=("code",)) for name in ("test_a", "test_b")]
        thresholds = Thresholds(0.03, accepted=accepted.find(self.folder))
        result = apply_excuses(Result("ab", *sides, Comparison(rows), thresholds))
        assert result.rows[1] == rows[1], "an entry is about its benchmark"
        return result.rows[0], result.notes

    def verdict(self, *words):
        row, lines = self.excused(*words)
        return row.judgement.verdict, *lines


@pytest.fixture
def repository(monkeypatch, tmp_path):
    repositories.without_settings(monkeypatch)
    (tmp_path / "project").mkdir()
    return Repository(tmp_path / "project")


def test_a_slowdown_within_what_is_accepted_is_accepted_with_its_reason(repository):
    row, lines = repository.excused()
    assert (row.judgement.verdict, row.judgement.reason, lines) == ("accepted", "accepted: x", ())
    assert row.judgement.judged
    assert row.notes == ("accepted 1.20x (1.18-1.22): x", "code")
    more = replace(SLOWER, ratio=1.32, low=1.3, high=1.34)
    row, _ = repository.excused(found=more)
    assert row.judgement == more
    assert row.notes[0].startswith("1.10x (1.08-1.13) beyond the accepted 1.20x: x")
    other = Judgement("undecided", "too few pairs", 1.2, 1.1, 1.3, 1.1, 1.3)
    assert repository.excused(found=other)[0].judgement == other


def test_an_entry_is_in_force_if_all_heads_have_it_and_no_base_does(repository):
    assert repository.verdict("main", "feature~1") == ("slower",), "it is older than the entry"
    assert repository.verdict("feature~1", "main") == ("slower",)
    assert repository.verdict("feature", "feature") == ("slower",), "the base has it"
    # Of sides of several commits:
    assert repository.verdict("main feature~1", "feature") == ("accepted",)
    assert repository.verdict("main feature", "feature") == ("slower",)
    assert repository.verdict("main", "feature main") == ("slower",)
    for unknown in ("", "e" * 40):
        verdict, line = repository.verdict(unknown, "feature")
        assert verdict == "slower"
        assert f"because the base may already have these entries: {ENTRY}; the result must name" in line


@pytest.mark.parametrize(
    "way", ["merge -q --no-edit feature", "merge -q --squash feature", "cherry-pick HEAD..feature"]
)
def test_it_stays_in_force_however_the_branch_lands(repository, way):
    repository.git("checkout", "-q", "main")
    base = repository.commit("unrelated", other="1")
    repository.git(*way.split())
    repository.commit("later", other="2")
    repository.git("branch", "-qD", "feature")
    assert repository.verdict(base, "HEAD") == ("accepted",)


def test_before_it_is_committed_it_holds_for_the_working_tree(repository):
    repository.accept(reason="y")
    assert repository.excused("main", "HEAD")[0].judgement.reason == "accepted: y"
    assert repository.verdict("main", "HEAD~1") == ("slower",)


@pytest.mark.parametrize("ratio", [1.2, 1.0])
def test_more_memory_within_what_is_accepted_does_not_fail(repository, ratio):
    undecided = Judgement("undecided", "")

    def found(verdict, head_bytes, more_bytes=2**20):
        memory = MemoryChange(verdict, 2**23, head_bytes)
        repository.accept(ratio=ratio, low=ratio, high=ratio, more_bytes=more_bytes)
        return repository.excused(found=undecided, memory=memory)[0].memory.excused

    assert found("more memory", 2**23 + 2**20) == "accepted: x"
    assert found("more memory", 2**23 + 2**20 + 2**15) == "accepted: x", "the rest gives no verdict"
    assert found("more memory", 2**23 + 2**21) is None
    assert found("more memory", 2**23 + 2**20, more_bytes=0) is None, "of time only"


RULES = """
[[rules]]
benchmarks = "*test_?"
ignore = "waits for the new driver"
"""
UNDECIDED = Judgement("undecided", "1 pair, a verdict needs 4", 1.1)
INCOMPARABLE = Judgement("incomparable", "not in the baseline")
SAME = Judgement("same", "the interval lies within 3%", 1.0, 0.98, 1.02, 0.99, 1.01, 0.02)


def ruled(*rows, text=RULES):
    rules = parse(Path("gnnbench.toml"), tomllib.loads(text))
    thresholds = Thresholds(0.03, rules=rules)
    return apply_excuses(Result("ab", Side("a"), Side("b"), Comparison(list(rows)), thresholds)).comparison


def row(found, name="test_a", memory=None):
    return Compared(name, found, 1e-3, memory=memory)


@pytest.mark.parametrize("before", [SLOWER, UNDECIDED, INCOMPARABLE])
def test_what_would_fail_is_ignored_and_says_by_which_rule_and_what_it_would_be(before):
    found = ruled(row(before)).rows[0].judgement
    why = "waits for the new driver (rule 1 of gnnbench.toml); without the rule: "
    reason = f"{why}{before.verdict}, {before.reason}"
    assert found == replace(before, verdict="ignored", reason=reason)


def test_a_rule_that_ignores_times_excuses_no_different_output():
    assert ruled(replace(row(SLOWER), results=Agreement("differ", "by 2"))).rows[0].is_worse


def test_what_never_fails_or_has_no_rule_keeps_its_verdict():
    for one in (row(SAME), row(SAME_CODE), row(SLOWER, "test_other")):
        assert ruled(one).rows == [one]


def test_the_exit_code_is_that_of_the_other_benchmarks():
    ignored = [row(SLOWER), row(UNDECIDED), row(INCOMPARABLE)]
    codes = [
        exit_code(ruled(*ignored, row(one, "test_other")), strict=True) for one in (SAME, UNDECIDED, SLOWER)
    ]
    assert codes == [0, 3, 1]
    assert exit_code(ruled(*ignored, row(INCOMPARABLE, "test_other")), strict=False) == 3


def test_more_memory_of_an_ignored_benchmark_does_not_fail():
    found = ruled(row(SAME, memory=MORE))
    assert found.rows[0].memory.excused == "ignored: waits for the new driver (rule 1 of gnnbench.toml)"
    assert exit_code(found, strict=True) == 0


@pytest.mark.parametrize(
    ("rules", "base", "more", "excused"),
    [
        ("", 2**23, 2**23 // 20, "within the limit of 5.0%"),
        ("", 2**23, 2**23 // 20 + 1, None),
        ("", 2**20, 2**16, "within the limit of 64.0 KiB"),
        ("", 0, 2**17, None),
        ("more_memory = '20%'", 2**23, 2**20, "within the limit of 20%"),
        ("more_memory = 0.02", 2**30, 2**25, None),
    ],
)
def test_more_memory_within_its_limit_does_not_fail_but_is_told(rules, base, more, excused):
    memory = MemoryChange("more memory", base, base + more)
    found = ruled(row(SAME, memory=memory), text=rules and f"[[rules]]\nbenchmarks = '*'\n{rules}")
    (one,) = found.rows
    assert (one.memory, one.is_worse) == (replace(memory, excused=excused), excused is None)
    assert exit_code(found, strict=True) == int(excused is None)
    assert ("needs more memory" in wording.headline([one]).main) == (excused is None)
    assert wording.memory_sentence(one.memory).endswith(excused or ")" * bool(base) or "0 B in the base")
