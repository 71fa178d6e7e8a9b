"""`gnnbench watch`: real commits on the simulated clock, releases in a local folder, and made-up results."""

import json
import random
import re
import shutil
import subprocess
from contextlib import nullcontext, suppress
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from gnnbench.apps.watch import command, texts, versions
from gnnbench.apps.watch import page as watch_page
from gnnbench.apps.watch import run as watching
from gnnbench.apps.watch.run import Watch, WatchPlan
from gnnbench.apps.watch.state import State, Step, kinds
from gnnbench.apps.watch.versions import Version, Watched
from gnnbench.engine.drive import coordinator
from gnnbench.engine.drive.bisect import bisection
from gnnbench.engine.drive.repeat import Repeat
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.judge.comparison import Agreement, Compared, Comparison
from gnnbench.engine.judge.memory import MemoryChange
from gnnbench.engine.judge.verdict import SAME_CODE, Judgement
from gnnbench.engine.show.markdown_text import Markdown
from tests.engine.cli import saved
from tests.engine.cli.started import start
from tests.engine.drive.bisect.histories import ALONE, ONE, content, create, hash_of
from tests.engine.drive.bisect.results import commits, finding, setting
from tests.engine.drive.bisect.results import result as bisected
from tests.engine.process.variants.repositories import commit_all, git, wheel, without_settings
from tests.engine.process.workers import Watcher
from tests.runs import gnnbench

LINE = commits(3)
WORDS = ("--state", "state", "--since", "good", "--budget", "20", "--page", "p.html", "--", "test_suite.py")


@pytest.fixture
def five(tmp_path, monkeypatch):
    """A repository of five commits."""
    return create(
        tmp_path, [content(number, 1.2 if number >= 2 else 1.0) for number in range(5)], monkeypatch
    )


def variables(folder):
    return {**ALONE, "GNNBENCH_CACHE": str(folder / ".cache")}


def state_of(folder):
    """Return what the files of a state say, without what differs from run to run on a real machine."""
    files = sorted((folder / "state").rglob("*.json"))
    return {
        str(file.relative_to(folder / "state")): without_times(json.loads(file.read_text())) for file in files
    }


def decided(folder):
    """Return what a state says of each step, without numbers, which depend on the machine."""
    return [
        (
            step.file,
            step.base,
            step.failed,
            [(row.fullname, row.judgement.verdict, row.judgement.same_code) for row in step.first.rows],
            [(name, step.causes(name)) for name in step.confirmed()],
        )
        for step in State(folder / "state").steps
    ]


def without_times(value):
    if isinstance(value, dict):
        left_out = ("environment", "seconds", "contention_share", "looked_at")
        return {key: without_times(one) for key, one in value.items() if key not in left_out}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def test_what_runs_the_same_code_is_a_step_without_a_change(tmp_path, monkeypatch):
    folder = create(tmp_path, [content(number) for number in range(2)], monkeypatch)
    found = gnnbench("watch", "git:main", *WORDS, cwd=folder, **variables(folder))
    assert found.returncode == 0, found.stderr
    state = State(folder / "state")
    assert (len(state.steps), state.changes()) == (1, [])
    assert hash_of(folder, 1)[:10] in (folder / "p.html").read_text()
    again = gnnbench("watch", "git:main", *WORDS, cwd=folder, **variables(folder))
    assert (again.returncode, again.stdout.count("→")) == (0, 0), "there is nothing new"


@pytest.mark.nightly
def test_the_third_of_five_commits_is_the_one_change(five):
    found = gnnbench("watch", "git:main", *WORDS, cwd=five, **variables(five))
    assert found.returncode == 1, found.stderr
    state = State(five / "state")
    (change,) = state.changes()
    assert [one.name for one in change.causes] == [hash_of(five, 2)]
    ((name, pair),) = change.pairs.items()
    assert (name, texts.agreement(pair[0]), change.kinds) == (ONE, "equal", ["slower"])
    assert all(1.1 < one.judgement.low < one.judgement.ratio < 1.3 for one in pair)
    assert [one.is_anchor for one in state.steps] == [False] * 4 + [True], "it explains the anchor"
    (text,) = (five / "state" / "changes").iterdir()
    assert hash_of(five, 2)[:10] in text.read_text()
    assert "change 2" in (five / "p.html").read_text()


@pytest.mark.nightly
def test_a_run_that_is_killed_at_random_places_goes_on_to_the_same_state(five):
    whole = gnnbench("watch", "git:main", *WORDS, cwd=five, **variables(five))
    assert whole.returncode == 1, whole.stderr
    expected = decided(five)
    for name in ("state", ".cache"):
        shutil.rmtree(five / name)
    draws = random.Random(5)
    for _ in range(10):
        process = start(five, "watch", "git:main", *WORDS, **variables(five))
        with suppress(subprocess.TimeoutExpired):
            process.wait(draws.uniform(0.5, 12))
        process.kill()
        process.communicate()
    gnnbench("watch", "git:main", *WORDS, cwd=five, **variables(five))
    assert decided(five) == expected


@pytest.mark.nightly
def test_small_steps_together_are_found_by_the_anchor(tmp_path, monkeypatch):
    folder = create(tmp_path, [content(number, 1.015**number) for number in range(7)], monkeypatch)
    found = gnnbench("watch", "git:main", *WORDS, cwd=folder, **variables(folder))
    assert found.returncode == 1, found.stderr
    assert [one.step.is_anchor for one in State(folder / "state").changes()] == [True]


def test_the_largest_of_several_changes_of_a_benchmark_names_the_cause():
    history = commits(4)
    findings = [finding(history, 0, 1, a=1.3), finding(history, 2, 3, a=1.1)]
    step = Step(1, Version("1", "git:good", ""), Version("2", "git:main", ""))
    step = replace(step, search=bisected(history, "slower", findings=findings))
    assert [cause.title for cause in step.causes("test_a.py::a")] == ["change 1"]
    assert step.causes("test_a.py::b") == ()


def row(name, verdict="same", ratio=1.0, **more):
    if verdict == "same code":
        return Compared(name, SAME_CODE, None)
    bounds = ratio * 0.95, ratio * 1.05
    return Compared(name, Judgement(verdict, "", ratio, *bounds, *bounds), 1e-3, **more)


def answer(*rows):
    repeat = Repeat("pip:thing==1", "pip:thing==2", places=("test_a.py",))
    return replace(saved.result(), comparison=Comparison(list(rows)), repeat=repeat)


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Run a watch of four versions with made-up answers, which is interrupted after so many."""
    four = [Version(f"{number}", f"pip:thing=={number}", f"2026-01-0{number}") for number in range(1, 5)]
    names = [one.variant for one in four]
    a, b = "test_a.py::a", "test_a.py::b"
    memory, little = (MemoryChange("more memory", 10**7, head) for head in (2 * 10**7, 10**7 + 10**5))
    answers = {
        (names[0], names[1]): [row(a, "slower", 1.2), row(b, "same", memory=little)],
        (names[1], names[2]): UsageError("head: it cannot be built"),
        (names[1], names[3]): [
            row(a, "same code"),
            row(b, "undecided", memory=memory, results=Agreement("equal")),
        ],
        (names[2], names[3]): [],
        (names[0], names[3]): [row(a, "slower", 1.21), row(b, "faster", 0.9)],
    }
    monkeypatch.setattr(Watched, "versions", lambda *words: four[four.index(words[-1]) if words[-1] else 0 :])
    monkeypatch.setattr(Watched, "ends", lambda *_: ("git:good", "git:main"))
    monkeypatch.setattr(watching.prepare, "both", lambda base, head, *_, **__: nullcontext((base, head)))

    def run(calls=99):
        left = iter(range(calls))

        def call(found):
            if next(left, None) is None:
                raise KeyboardInterrupt
            if isinstance(found, UsageError):
                raise found
            return found

        def compared(base, head, its, _watcher):
            rows = call(answers[base.text, head.text])
            assert its.per_benchmark_seconds == (10.0 if its.only else 1.0), "alone, it has the time of all"
            return answer(*[one for one in rows if its.only is None or one.fullname in its.only])

        def searched(_good, _bad, its, _watcher, ends):
            run.ends = ends and [row.fullname for row in ends.rows]
            assert its.per_benchmark_seconds == 5.0, "half of the time is for the ends"
            return call(bisected(LINE, "slower", findings=[finding(LINE, 1, 2, a=1.2)]))

        monkeypatch.setattr(coordinator, "run", compared)
        monkeypatch.setattr(watching, "_same_files", lambda *_: False)
        monkeypatch.setattr(bisection, "run", searched)
        usual = setting(tmp_path, per_benchmark_seconds=1.0, total_seconds=10.0)
        its = WatchPlan(**vars(usual), search_seconds=10.0, anchor="3")
        watch = Watch(Watched("thing", tmp_path), State(tmp_path / "state"), its, Watcher())
        try:
            watch.run()
        except KeyboardInterrupt:
            return None
        run.new = [step.file for step in watch.new]
        return State(tmp_path / "state")

    return run


def test_interrupted_at_each_place_it_ends_with_the_same_state(made_up, tmp_path):
    made_up()
    expected = state_of(tmp_path)
    assert len(expected) == 5
    shutil.rmtree(tmp_path / "state")
    calls = 0
    while made_up(2) is None:  # each run does one thing, and one more where a version fails
        calls += 1
    assert calls > 2
    assert state_of(tmp_path) == expected


def test_a_version_that_cannot_be_built_is_stepped_over_and_tried_again(made_up):
    state = made_up()
    assert [one.base.name for one in state.neighbours] == ["1", "2", "2"]
    assert state.neighbours[1].failed == {"first": "head: it cannot be built"}
    with pytest.raises(UsageError, match="give another --state"):
        state.begin("other")


def test_a_search_that_fails_again_makes_no_step_new(made_up, monkeypatch):
    monkeypatch.setattr(Watched, "ends", Mock(side_effect=UsageError("no tag")))
    assert made_up().steps[-1].failed == {"search": "no tag"}
    assert made_up.new[-1] == "0003-anchor-4.json"
    made_up()
    assert made_up.new == []


def test_a_search_between_the_same_commits_does_not_compare_them_again(made_up, monkeypatch):
    made_up()
    assert made_up.ends is None
    monkeypatch.setattr(Watched, "ends", lambda _, base, head: (base.variant, head.variant))
    shutil.rmtree(made_up().folder)
    made_up()
    assert made_up.ends == ["test_a.py::b"]


def test_a_new_step_replaces_none_when_files_are_missing(made_up, tmp_path):
    made_up()
    for name in ("0001-2", "0003-4"):
        (tmp_path / f"state/steps/{name}.json").unlink()
    assert [step.file for step in made_up().steps] == ["0002-3.json", "0003-4.json", "0003-anchor-4.json"]


@pytest.mark.parametrize(("memory", "code"), [("less memory", 0), ("more memory", 1)])
def test_what_only_one_run_finds_is_not_worse(in_process, tmp_path, monkeypatch, memory, code):
    less = MemoryChange(memory, 2 * 10**7, 10**7)
    rows = [row("a", verdict, 1.2, memory=less) for verdict in ("slower", "same")]
    step = Step(1, Version("1", ""), Version("2", ""), first=answer(rows[0]), again=answer(rows[1]))
    monkeypatch.setattr(command, "_compare", lambda *_: ([step], False))
    assert in_process("watch", "thing", "--state", str(tmp_path)).returncode == code


def test_each_change_is_said_once_with_its_cause(made_up):
    state = made_up()
    changes = state.changes()
    assert [(one.step.head.name, one.step.is_anchor, one.kinds, list(one.pairs)) for one in changes] == [
        ("4", True, ["faster"], ["test_a.py::b"]),
        ("4", False, ["more memory"], ["test_a.py::b"]),
        ("2", False, ["slower"], ["test_a.py::a"]),
    ]
    assert [texts.title(one, "thing") for one in changes] == [
        "b: faster, 0.90x, between 1 and thing 4",
        "b: more memory, since thing 4",
        "a: slower, 1.20x, since thing 2",
    ]
    assert texts.cause(changes[2]).endswith("(2026-01-31): change 2")
    assert changes[2].day == "2026-01-31"
    text = Markdown().write(texts.report(changes[2], "thing"))
    assert "| a | 1.20x | 1.14‑1.26 | 1.20x | 1.14‑1.26 |" in text.replace("`", "")
    assert "gnnbench ab pip:thing==1 pip:thing==2 -- test_a.py::a" in text
    without = replace(changes[2], causes=(), step=replace(changes[2].step, search=bisected(LINE, "same")))
    text = Markdown().write(texts.report(without, "thing"))
    assert "The cause was not found: the search saw no change." in text
    step = replace(state.steps[0], again=None)
    assert not step.confirmed(), "one run is not enough"
    assert not kinds(row("a", results=Agreement("differ", excused="accepted")))


def test_the_page_can_be_read_on_a_phone_and_on_a_desktop(made_up, visit, tmp_path):
    made_up()
    for file in (tmp_path / "state").rglob("*.json"):
        long = "::add_remaining_self_loops[forward_backward-torch-float32-int64-ogbn-arxiv-256-cpu"
        file.write_text(file.read_text().replace("test_a.py::", f"test_a.py{long}-"))
    page = tmp_path / "page.html"
    page.write_text(watch_page.html(State(tmp_path / "state")))
    assert visit(page).faults() == []


def test_nightly_builds_are_versions_and_are_searched_by_day(tmp_path, monkeypatch):
    without_settings(monkeypatch)
    for version in ("1.0.dev20260101", "1.0.dev20260103", "1.0.dev20260104"):
        wheel(tmp_path / "wheels", "thing", version)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    clone = tmp_path / "clone"
    clone.mkdir()
    hashes = []
    for day in ("2026-01-01", "2026-01-02", "2026-01-03", "2026-01-05"):
        dates = {f"GIT_{who}_DATE": f"{day}T05:00:00+00:00" for who in ("AUTHOR", "COMMITTER")}
        for name, value in dates.items():
            monkeypatch.setenv(name, value)
        (clone / "a").write_text(day)
        hashes.append(commit_all(clone, day))
    watched = Watched("thing", tmp_path, "clone")
    found = watched.versions("1.0.dev20260101", None, None)
    assert [one.day for one in found] == ["2026-01-01", "2026-01-03", "2026-01-04"]
    assert found[0].variant == "pip:thing==1.0.dev20260101"
    assert [one.name for one in watched.versions(None, None, None)] == ["1.0.dev20260103", "1.0.dev20260104"]
    assert [one.name for one in watched.versions(None, None, found[-1])] == ["1.0.dev20260104"]
    assert watched.ends(*found[1:]) == tuple(f"git:./clone@{hashes[number]}" for number in (1, 2))
    with pytest.raises(UsageError, match="has no commit before 2026-01-01"):
        watched.ends(*found[:2])
    wheel(tmp_path / "wheels", "thing", "0.9")
    wheel(tmp_path / "wheels", "thing", "0.8")
    assert [one.name for one in watched.versions(None, None, None)] == ["0.8", "0.9"], (
        "releases, if there are any"
    )
    with pytest.raises(UsageError, match=r"unknown version of thing '9\.0'"):
        watched.versions("9.0", None, None)
    git(clone, "tag", "v0.8", hashes[0])
    git(clone, "tag", "0.9", hashes[2])
    first = f"git:./clone@{hashes[0]}"
    assert watched.ends(*watched.versions(None, None, None)) == (first, "git:./clone@0.9")
    git(clone, "checkout", "-q", "v0.8")
    (clone / "a").write_text("patched")
    git(clone, "tag", "0.8.1", commit_all(clone))
    ends = watched.ends(*map(watched.named, ("0.8.1", "0.9")))
    assert ends == (first, "git:./clone@0.9"), "a release on a branch of its own"


def test_what_is_watched_is_a_package_or_a_repository(tmp_path):
    for text, message in (
        ("path:x", "cannot be watched: give a package, git:REF or git:DIR@REF"),
        ("./x", "is not part of a variant"),
        ("a b", "is not one release"),
        ("git:./nowhere@main", "does not exist"),
    ):
        with pytest.raises(UsageError, match=message):
            Watched(text, tmp_path).versions(None, None, None)


def test_commits_of_a_branch_that_was_rewritten(five):
    watched = Watched("git:main", five)
    last = watched.versions("good", None, None)[-1]
    assert last.title == "change 4"
    git(five, "reset", "-q", "--hard", "HEAD~2")
    (five / "thing.py").write_text(content(5))
    commit_all(five, "change 5")
    assert [one.title for one in watched.versions(None, None, last)] == ["change 2", "change 5"]
    git(five, "checkout", "-q", "--orphan", "other")
    commit_all(five, "other")
    with pytest.raises(UsageError, match=f"git:other has no commit in common with {last.name}: fetch"):
        Watched("git:other", five).versions(None, None, last)
    with pytest.raises(UsageError, match=r"git:goods names no commit .* did you mean good\?"):
        watched.versions("goods", None, None)
    good = hash_of(five, 0)
    assert versions.anchor("good", [last], watched) == watched.versions(good, good, None)[0]


@pytest.mark.parametrize(
    ("typed", "day", "base"),
    [
        (None, "2026-01-01", "2"),
        (None, "", "27"),
        ("3", "", "29"),
        ("0", "", None),
        ("5", "", "27"),
        ("31", "", "1"),
        ("29", "", "3"),
        ("pip:other==2.0", "", "other==2.0"),
        ("0.1", "", "0.1"),
    ],
)
def test_the_anchor(tmp_path, typed, day, base):
    looked_at = [Version(str(number), f"pip:thing=={number}", day) for number in range(1, 33)]
    found = versions.anchor(typed, looked_at, Watched("thing", tmp_path))
    assert (found and found.name) == base
    if typed != "pip:other==2.0":
        assert versions.anchor(typed, looked_at[:2], Watched("thing", tmp_path)) in (None, found)


def test_builds_that_differ_in_their_version_alone_are_not_compared(tmp_path):
    files = {"thing/__init__.py": "VERSION = '{}'", "thing/a.py": "{}", "thing/__pycache__/a.pyc": "{}{}"}
    sides = []
    for name, more in (("1.0.dev1", ""), ("1.0.dev2", ""), ("1.0.dev3", " + 1")):
        for file, text in {**files, f"thing-{name}.dist-info/METADATA": name * 2}.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            changed = more if file.endswith("a.py") else ""
            (tmp_path / name / file).write_text(text.format(name, 0) + changed)
        sides.append((Version(name, ""), SimpleNamespace(trees=(tmp_path / name,))))
    first, *others = sides
    same = [watching._same_files(Step(1, first[0], one[0]), first[1], one[1]) for one in others]
    assert same == [True, False]
    assert not watching._same_files(Step(1, first[0], first[0]), first[1], SimpleNamespace(trees=()))
    for number in ("1.5", "1.6"):
        (tmp_path / number).mkdir()
        (tmp_path / number / "thing.py").write_text(f"rate = {number}")
    five, six = (SimpleNamespace(trees=(tmp_path / number,)) for number in ("1.5", "1.6"))
    assert not watching._same_files(Step(1, Version("1.5", ""), Version("1.6", "")), five, six)
    state = State(tmp_path / "state")
    state.put(Step(1, first[0], others[0][0], same_files=True))
    (step,) = State(tmp_path / "state").steps
    assert step.all_same_code
    assert texts.counts(step) == "the same files"
    three, four = others[1][0], Version("1.0.dev4", "")
    state.put(Step(2, others[0][0], three, same_files=True))
    state.put(Step(3, three, four, same_files=True))
    state.put(Step(4, first[0], four, is_anchor=True))
    page = watch_page.html(State(tmp_path / "state"))
    rows = [re.sub("<[^>]*>", "", row) for row in re.findall(r'<th scope="row">(.*?)</th>', page, re.DOTALL)]
    assert rows == ["1.0.dev1 → 1.0.dev4 (anchor)", "1.0.dev1 → 1.0.dev4, 3 steps"]
