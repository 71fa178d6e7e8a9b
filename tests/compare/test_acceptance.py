"""Which accepted slowdowns are in force, in real repositories."""

import datetime as dt
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gnnbench import git
from gnnbench.compare.acceptable import Judged, Row, _patches, entries
from gnnbench.compare.acceptance import Acceptance, contains
from gnnbench.compare.comparison import Compared, Comparison
from gnnbench.compare.memory import MemoryChange
from gnnbench.compare.revision import Revision
from gnnbench.compare.verdict import SAME_CODE, Judgement, Thresholds
from gnnbench.errors import UsageError
from gnnbench.results import accepted
from gnnbench.results.accepted import FILE, Accepted, Entry
from tests.variants import repositories

TODAY = dt.date(2026, 11, 24)
SLOWER = Judgement("slower", "", 1.2, 1.18, 1.22, 1.18, 1.22)


class Repository:
    """A branch `feature` of two commits that are accepted, and of what came later; `main` goes on."""

    def __init__(self, folder):
        self.folder = folder
        self.git("init", "-q", "-b", "main")
        self.base = self.commit("base", code="1")
        self.git("checkout", "-q", "-b", "feature")
        self.commit("slow", code="2")
        self.head = self.commit("more", more="1")
        patches = _patches(folder, self.base, self.head)
        self.entry = Entry("test_a", 1.2, 1.18, 1.22, self.base, self.head, "Ada", TODAY, "x", None, patches)
        accepted.write(Accepted(folder / FILE), [self.entry])
        self.accepting = self.commit("accept")
        self.git("checkout", "-q", "main")
        self.newer = self.commit("unrelated", other="1")

    def git(self, *words):
        return repositories.git(self.folder, *words)

    def commit(self, message, **files):
        for name, text in files.items():
            (self.folder / name).write_text(f"{text}\n")
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def forget_the_branch(self):
        self.git("branch", "-qD", "feature")
        self.git("reflog", "expire", "--expire=now", "--all")
        self.git("gc", "-q", "--prune=now")
        assert git.full_hash(self.folder, self.head) is None

    def has(self, commit="HEAD"):
        return contains(self.folder, self.git("rev-parse", commit), self.entry)


@pytest.fixture
def repository(monkeypatch, tmp_path):
    repositories.without_settings(monkeypatch)
    (tmp_path / "project").mkdir()
    return Repository(tmp_path / "project")


def test_only_the_branch_and_what_it_is_merged_into_contain_its_change(repository):
    assert repository.has("feature")
    assert not repository.has("feature~2")
    assert not repository.has("main")
    repository.git("merge", "-q", "feature")
    assert repository.has()
    assert not repository.has("HEAD^1")


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
    assert repository.has()
    assert repository.has("HEAD~1")
    assert not repository.has("HEAD~2")


@pytest.mark.parametrize("how", ["--ff-only", "--no-ff"])
def test_a_rebased_branch_contains_it(repository, how):
    repository.git("checkout", "-q", "-b", "rebased", "feature")
    repository.git("rebase", "-q", "main")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", how, "rebased")
    repository.git("branch", "-qD", "rebased")
    repository.forget_the_branch()
    assert repository.has()
    before = {"--ff-only": "HEAD~2", "--no-ff": "HEAD~1"}[how]  # only the first of both commits, or none
    assert not repository.has(before)


def test_an_entry_that_is_committed_before_its_change_is_not_its_change(repository):
    repository.git("checkout", "-q", "feature", "--", str(FILE))
    repository.commit("accept early")
    assert not repository.has()


def test_what_git_does_not_know_is_unknown(repository, tmp_path):
    assert contains(repository.folder, "d" * 40, repository.entry) is None
    other = Entry(**{**vars(repository.entry), "base": "e" * 40, "head": "f" * 40})
    assert contains(repository.folder, repository.newer, other) is None
    repository.git("merge", "-q", "feature")
    repository.commit("later", other="2")
    shallow = tmp_path / "shallow"
    address = repository.folder.as_uri()
    subprocess.run(["git", "clone", "-q", "--depth=1", address, shallow], check=True, capture_output=True)
    assert contains(shallow, repository.git("rev-parse", "HEAD"), repository.entry) is None


def judged(repository, base, head, today=TODAY, judgement=SLOWER, shared=None, **changes):
    entry = Entry(**{**vars(repository.entry), "number": 1, **changes})
    acceptance = Acceptance(Accepted(FILE, (entry,)), repository.folder, today)
    sides = tuple(
        Revision(tuple(repository.git("rev-parse", one) for one in side.split())) for side in (base, head)
    )
    rows = [Compared(name, judgement, 1.0) for name in ("test_a", "test_b")]
    found = acceptance.judge(Comparison(rows, shared), Thresholds(0.03), lambda _: sides)
    assert found.rows[1] == rows[1], "an entry is about its benchmark"
    return found.rows[0].judgement.verdict, acceptance.lines()


def test_an_entry_is_in_force_if_all_heads_contain_its_change_and_no_base_does(repository):
    assert judged(repository, "main", "feature") == ("accepted", [])
    assert judged(repository, "feature~3", "feature~1") == ("accepted", [])
    assert judged(repository, "main~1", "main") == ("slower", [])
    # Of sides of several commits:
    assert judged(repository, "main main~1", "feature feature~1")[0] == "accepted"
    assert judged(repository, "main feature", "feature")[0] == "slower"
    assert judged(repository, "main", "feature main")[0] == "slower"
    verdict, lines = judged(repository, "main", "")
    assert verdict == "slower"
    assert "unknown whether base and head contain it: entry 1 (test_a)" in lines[0]
    assert "git fetch --unshallow" in lines[0]


def test_it_ends_when_the_base_contains_its_change(repository):
    repository.git("merge", "-q", "--squash", "feature")
    repository.commit("squash")
    repository.commit("later", other="2")
    verdict, lines = judged(repository, "HEAD~1", "HEAD")
    assert verdict == "slower"
    entry = "entry 1 (test_a) of baselines/accepted.toml"
    assert lines == [f"ended, because the base already contains what was accepted: {entry}"]
    assert judged(repository, "HEAD~1", "HEAD~2") == ("slower", []), "back to before the change"
    assert judged(repository, "HEAD~2", "HEAD") == ("accepted", [])


def test_it_expires_after_its_last_day(repository):
    last = dt.date(2026, 12, 1)
    assert judged(repository, "main", "feature", today=last, until=last) == ("accepted", [])
    verdict, lines = judged(repository, "main", "feature", today=dt.date(2026, 12, 2), until=last)
    assert verdict == "slower"
    start = "expired (2026-12-01), so not accepted any more: entry 1 (test_a) of baselines/accepted.toml; "
    assert lines == [f"{start}make it faster, or accept it again"]


def test_a_benchmark_that_recovered_is_named_with_its_entry(repository):
    fast = Judgement("same", "", 1.01, 0.99, 1.03, 0.99, 1.03)
    verdict, lines = judged(repository, "main", "feature", judgement=fast)
    assert verdict == "same"
    start = "test_a is not as slow as accepted any more (1.01x, accepted 1.20x): "
    assert lines == [f"{start}remove entry 1 of baselines/accepted.toml"]
    _, lines = judged(repository, "main", "feature", judgement=SAME_CODE)
    assert "(it runs the same code as the base, accepted 1.20x)" in lines[0]
    # With a drift removed, the slowdown of all benchmarks is in none of their ratios.
    assert judged(repository, "main", "feature", judgement=fast, shared=SLOWER) == ("same", [])


@pytest.mark.parametrize(("ratio", "part"), [(1.2, "more_bytes of entry 1"), (1.0, "entry 1")])
def test_a_benchmark_that_needs_no_more_memory_is_named_too(repository, ratio, part):
    changes = {"ratio": ratio, "low": ratio, "high": ratio, "more_bytes": 2**20}
    entry = Entry(**{**vars(repository.entry), "number": 1, **changes})
    side = {name: Revision((repository.git("rev-parse", name),)) for name in ("main", "feature")}

    def lines(memory):
        acceptance = Acceptance(Accepted(FILE, (entry,)), repository.folder, TODAY)
        rows = [Compared("test_a", Judgement("undecided", ""), 1.0, memory=memory)]
        acceptance.judge(Comparison(rows, None), Thresholds(0.03), lambda _: (side["main"], side["feature"]))
        return acceptance.lines()

    assert lines(MemoryChange("same memory", 2**23, 2**23)) == [
        f"test_a does not need more memory any more: remove {part} of baselines/accepted.toml"
    ]
    assert lines(MemoryChange("more memory", 2**23, 2**24)) == lines(None) == []


def test_an_entry_on_top_of_another_has_what_is_beyond_it(repository):
    """The branch went on, and what was accepted is 1.2 times the time and 100 more bytes."""
    repository.git("config", "user.name", "Ada")
    repository.git("config", "user.email", "ada@example.org")
    head = repository.git("rev-parse", "feature")
    file = repository.folder / FILE
    file.parent.mkdir(exist_ok=True)
    accepted.write(Accepted(file), [replace(repository.entry, more_bytes=100)])
    found = accepted.find(repository.folder)

    def entry(verdict, ratio, more_bytes):
        bounds = (ratio / 1.02, ratio * 1.02)
        memory = MemoryChange("more memory", 10**9, 10**9 + more_bytes) if more_bytes else None
        sides = (Revision((one,), dirty=False) for one in (repository.base, head))
        row = Row(Judgement(verdict, "", ratio, *bounds, *bounds), *sides, memory)
        judged = Judged(Path("ab.json"), {"test_a": row})
        (new,), replaced = entries(judged, ["test_a"], found, repository.folder, "y", TODAY)
        assert replaced == set()
        return round(new.ratio, 6), new.more_bytes

    assert entry("slower", 1.5, 0) == (1.25, 0)
    assert entry("slower", 1.5, 150) == (1.25, 50)
    assert entry("same", 1.0, 150) == (1.0, 50)
    for within in (("slower", 1.21, 0), ("slower", 1.2, 150), ("same", 1.0, 100)):
        with pytest.raises(UsageError, match=r"ab\.json: test_a is within what entry 1 .* accepts; leave it"):
            entry(*within)
