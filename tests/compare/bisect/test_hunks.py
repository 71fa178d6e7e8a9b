import pytest

from gnnbench.engine.drive.bisect import hunks, run
from gnnbench.engine.drive.bisect.line import Candidate, Cause
from gnnbench.engine.drive.bisect.result import Bisected
from gnnbench.engine.judge.comparison import Agreement
from gnnbench.engine.judge.visit import Inspections
from gnnbench.engine.show import bisect as shown
from gnnbench.engine.show.console import Terminal
from tests.compare.ab.workers import Watcher
from tests.compare.bisect.histories import create, in_three_hunks
from tests.compare.bisect.results import finding, result, setting
from tests.variants.repositories import commit_all, git, without_settings


@pytest.fixture
def commit(tmp_path, monkeypatch):
    """Commit files, as bytes by name; return what the line of the commit's hunks is."""
    without_settings(monkeypatch)
    hashes = []

    def commit(**files):
        for name, content in files.items():
            path = tmp_path / name.replace("_", ".")
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        hashes.append(commit_all(tmp_path, str(len(hashes))))
        if len(hashes) < 2:
            return None
        before = Candidate("before", f"git:{hashes[-2]} env:A=1")
        return hunks.line(before, Cause("commit", hashes[-1]), tmp_path)

    return commit


def test_each_candidate_has_one_more_hunk(commit, tmp_path):
    apart = "# apart\n" * 9
    old = f"def f():\n    return 1\n{apart}class C:\n    def g(self):\n        return 1\n{apart}X = 1\n"
    commit(a_py=old, gone_txt="1\n")
    line = commit(
        a_py=old.replace("1\n", "2\n"), gone_txt=None, new_py="def h():\n    return 1\n", b_bin=b"\0"
    )
    assert [one.cause.title for one in line.candidates[1:]] == [
        "in f(), a.py",
        "in g(), a.py",
        "a.py",
        "b.bin",
        "gone.txt",
        "in h(), new.py",
    ]
    assert line.candidates[2].cause.name == "hunk 2 of 6"
    assert line.candidates[0].variant.endswith("env:A=1")
    made = [one.variant.split()[0].removeprefix("git:") for one in line.candidates]
    assert [git(tmp_path, "show", f"{one}:a.py").count("2\n") for one in made[:4]] == [0, 1, 2, 2]
    files = [len(git(tmp_path, "ls-tree", "--name-only", one).split()) for one in made]
    assert files == [2, 2, 2, 2, 3, 2, 3]
    assert made[-1] == git(tmp_path, "rev-parse", "HEAD")
    again = hunks.line(line.candidates[0], Cause("commit", made[-1]), tmp_path)
    assert again == line, "an interrupted search continues"
    assert not git(tmp_path, "status", "--porcelain")


def test_a_commit_of_one_hunk_a_merge_and_one_that_is_taken_back_are_not_divided(commit, tmp_path):
    commit(a_py="1\n")
    assert commit(a_py="2\n") is None
    before = Candidate("before", "git:HEAD")
    for cause in (Cause("commit", "HEAD", parents=2), Cause("commit", "HEAD", undone=True)):
        assert hunks.line(before, cause, tmp_path) is None


def test_how_much_of_the_loss_a_hunk_is_is_said(commit):
    commit(a_py="1\n", b_py="def f():\n    return 1\n")
    line = commit(a_py="2\n", b_py="def f():\n    return 2\n")
    equal = {"test_a.py::a": Inspections(results=Agreement("equal"))}
    found = result(line, "slower", findings=[finding(line, 1, 2, equal, a=1.19)])
    text = Terminal(None).write(shown.document(found))
    assert "hunk 2 of 2: in f(), b.py" in text
    assert "a: 95% of the loss; results equal\n" in text
    (change,) = found.as_json()["stages"][0]["changes"]
    assert 0.95 < change["benchmarks"][0]["share"] < 0.96


def test_the_lines_of_hunks_share_the_time_that_is_left(tmp_path, monkeypatch):
    create(tmp_path, [in_three_hunks(number, 1.0 + number) for number in range(3)], monkeypatch)
    ended = "the time is used up"
    given = []

    def stage(line, _state, its, _watcher):
        given.append((line.kind, its.total_seconds, its.results))
        if line.kind == "commit":
            found = tuple(finding(line, one, one + 1, a=1.2) for one in range(2))
            return Bisected(line, {}, found, {}, 4, 40.0)
        return Bisected(line, {}, (), {}, 1, its.total_seconds, ended)

    monkeypatch.setattr(run, "_stage", stage)
    found = run.run("git:good", "git:main", setting(tmp_path, total_seconds=100.0), Watcher())
    hunk = ("hunk", 30.0, True)
    assert given == [("commit", 100.0, False), hunk, hunk], "results are compared with those of a hunk"
    assert (found.unfinished, found.interrupted) == (ended, False)
    for more in ({"total_seconds": 40.0}, {"total_seconds": 50.0, "hunks": False}):
        given.clear()
        run.run("git:good", "git:main", setting(tmp_path, **more), Watcher())
        assert given == [("commit", more["total_seconds"], False)], "no time is left, or no hunk is wanted"
