"""`gnnbench bisect` between releases in a local folder, and between lock files."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gnnbench.compare.bisect import lines, releases, run
from gnnbench.compare.bisect.line import Candidate, Cause, Move
from gnnbench.errors import UsageError
from tests.compare.ab.workers import Watcher
from tests.compare.bisect.histories import content, create
from tests.compare.bisect.results import finding, result, setting
from tests.variants.repositories import git, wheel

FIVE = ("alpha", "beta", "gamma", "delta", "thing")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A suite in a repository, and an empty folder of wheels."""
    suite = tmp_path / "suite"
    suite.mkdir()
    create(suite, [content(0)], monkeypatch)
    (suite / "thing.py").unlink()
    (tmp_path / "wheels").mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return suite


@pytest.fixture
def wheels(tmp_path):
    return tmp_path / "wheels"


def test_yanked_and_early_releases_are_no_candidates(folder, wheels, tmp_path, monkeypatch):
    for number in ("1", "2", "2+cpu", "3", "4", "4.5rc1", "5"):
        wheel(wheels, "thing", number)
    index = tmp_path / "index.html"
    links = [
        f'<a href="{file.as_uri()}"{" data-yanked=bad" if "-3-" in file.name else ""}>{file.name}</a>'
        for file in sorted(wheels.iterdir())
    ]
    index.write_text(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    down = releases.line("thing", "5", "1", folder)
    assert down.candidates[0].name == "thing 5"
    assert [one.cause.name for one in down.candidates[1:]] == ["thing 4", "thing 2", "thing 1"]
    assert [one.variant for one in down.candidates[1:]] == ["pip:thing==4", "pip:thing===2", "pip:thing==1"]
    builds = releases.line("thing", "1", "2+cpu", folder)
    assert [one.variant for one in builds.candidates] == ["pip:thing==1", "pip:thing==2+cpu"]
    assert down.notes == ()  # a lock file may take a package back
    typed = lines.line("pip:thing==5", "pip:thing==1", folder, Path)
    assert typed.notes[0].startswith("pip:thing==5 (GOOD) is newer than pip:thing==1 (BAD): swap them")


def locks(folder, old, new):
    """Write two lock files; return the ends."""
    for name, pins in (("old.txt", old), ("new.txt", new)):
        lines = [f"{package}=={version}" for package, version in pins.items()]
        (folder / name).write_text("\n".join(["# made by pip freeze", *lines, "-e git+ssh://x/y@1#egg=z"]))
    return {"good": "lock:old.txt", "bad": "lock:new.txt"}


def pins(line):
    return [set(one.variant.split()) for one in line.candidates]


def test_packages_move_with_or_after_what_their_metadata_require(folder, tmp_path):
    needs = {
        "alpha": "beta=={}",
        "beta": "alpha; extra == 'more'",
        "delta": "alpha>={}",
        "gamma": "not a / one",
    }

    def install(requirements):
        name, _, version = requirements[0].partition("==")
        required = [needs[name].format(version)] if name in needs else ()
        return wheel(tmp_path / "made", name, version, needs=required)  # its metadata can be read in place

    ends = locks(folder, dict.fromkeys(FIVE, "1"), {**dict.fromkeys(FIVE, "2"), "other": "1"})
    line = lines.line(*ends.values(), folder, install, skip=["thing"])
    names = [one.cause.name for one in line.candidates[1:]]
    assert names == ["gamma 1 → 2", "thing 1 → 2", "alpha 1 → 2 and beta 1 → 2", "delta 1 → 2"]
    first, *_, last = pins(line)
    assert first == {f"pip:{name}==1" for name in FIVE}
    assert last == {f"pip:{name}==2" for name in FIVE}
    assert line.skipped == {2}
    assert line.notes == ("not exchanged, because only new.txt has it: other",)


def test_within_a_package_s_step_are_its_releases_and_within_a_release_s_the_commits(
    folder, wheels, tmp_path, monkeypatch
):
    for number in ("1.0", "1.1", "1.2"):
        wheel(wheels, "thing", number)
    library = tmp_path / "library"
    library.mkdir()
    create(library, [content(number) for number in range(4)], monkeypatch)
    git(library, "tag", "v1.1", "main~3")
    git(library, "tag", "thing-1.2", "main~1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    step = Cause("package", "thing 1.0 → 1.2", moves=(Move("thing", "1.0", "1.2"),))
    known = lines.repositories([f"Thing={library}"])
    before = Candidate("first", "pip:alpha==1 pip:thing==1.0")
    line = lines.closer(before, step, known, folder)
    assert [one.name for one in line.candidates] == ["thing 1.0", "thing 1.1", "thing 1.2"]
    assert pins(line)[1] == {"pip:alpha==1", "pip:thing==1.1"}
    _, before, after = line.candidates
    commits = lines.closer(before, after.cause, known, folder)
    assert [one.cause.title for one in commits.candidates[1:]] == ["change 1", "change 2"]
    assert pins(commits)[0] > {"pip:alpha==1"}
    stage = result(line, findings=[finding(line, 1, 2, a=1.2), finding(line, 0, 2, a=1.3)]).stages[0]
    its = setting(folder, arguments=("suite", "-x"))
    inside = [(commits, ("test_a.py::a", "suite", "-x"))]
    assert list(run._closer(stage, its, known, Watcher())) == inside
    assert list(run._closer(stage, its, {"thing": "nowhere"}, watcher := Watcher())) == []
    assert watcher.said[0].startswith(
        "thing 1.2: not looked at closer: --repository thing=nowhere: there is no"
    )
    assert lines.closer(before, after.cause, {}, folder) is None
    assert lines.closer(before, replace(step, moves=step.moves * 2), known, folder) is None
    with pytest.raises(UsageError, match=r"has no tag of thing 1\.0, such as v1\.0"):
        lines.closer(line.candidates[0], before.cause, known, folder)
    with pytest.raises(UsageError, match=r"^--repository thing must be NAME=DIR"):
        lines.repositories(["thing"])
    with pytest.raises(UsageError, match="there is no such folder"):
        lines.closer(before, after.cause, {"thing": "nowhere"}, folder)


@pytest.mark.parametrize(
    ("good", "bad", "text"),
    [
        ("git:./a@1", "git:./b@2", "are of two repositories"),
        ("git:./a@1", "git:./a@2", "the folder of 'git:./a@1' does not exist"),
        ("pip:thing==1", "pip:other==2", "are two packages"),
        ("pip:thing>=1", "pip:thing==2", "is not one release: give pip:NAME==VERSION"),
        ("pip:thing==1", "pip:thing==x;y", "is not one release"),
        ("pip:--index-url=x", "pip:thing==2", "is not one release"),
        ("pip:../thing", "pip:thing==2", "is not one release"),
        ("pip:thing[a]==1", "pip:thing==2", "is not one release"),
        ("pip:no-such-thing==1", "pip:no-such-thing==2", "pip finds no releases of no-such-thing"),
        ("pip:thing==1.*", "pip:thing==2", "is not one release"),
        ("lock:nowhere.txt", "lock:pytest.ini", "lock:nowhere.txt cannot be read"),
        ("lock:.", "lock:pytest.ini", "lock:. cannot be read (it is a folder)"),
        ("lock:pytest.ini", "lock:pytest.ini ", "both ends are"),
        ("lock:pytest.ini", "lock:test_suite.py", "lock:pytest.ini pins no release"),
        # A hostile name in a lock file is no option of pip.
        ("lock:old.txt", "lock:new.txt", "have no package with two releases"),
    ],
)
def test_wrong_ends_are_a_line(folder, monkeypatch, good, bad, text):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    locks(folder, {"--index-url=x": "1", "thing": "1"}, {"--index-url=x": "2", "thing": "1"})
    with pytest.raises(UsageError, match=re.escape(text)):
        lines.line(good, bad, folder, Path)
