"""`gnnbench bisect` between releases in a local folder."""

import re

import pytest

from gnnbench.engine.drive.bisect import history
from gnnbench.engine.ground.errors import UsageError
from tests.engine.drive.bisect.histories import content, create
from tests.engine.process.variants.repositories import wheel


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


def test_yanked_and_early_releases_are_no_candidates(folder, tmp_path, monkeypatch):
    wheels = tmp_path / "wheels"
    for number in ("1", "2", "2+cpu", "3", "4", "4.5rc1", "5"):
        wheel(wheels, "thing", number)
    index = tmp_path / "index.html"
    links = [
        f'<a href="{file.as_uri()}"{" data-yanked=bad" if "-3-" in file.name else ""}>{file.name}</a>'
        for file in sorted(wheels.iterdir())
    ]
    index.write_text(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    up = history.History.between("pip:thing==1", "pip:thing==5", folder)
    assert up.candidates[0].name == "thing 1"
    assert [one.cause.name for one in up.candidates[1:]] == ["thing 2", "thing 4", "thing 5"]
    assert [one.variant for one in up.candidates[1:]] == ["pip:thing===2", "pip:thing==4", "pip:thing==5"]
    builds = history.History.between("pip:thing==1", "pip:thing==2+cpu", folder)
    assert [one.variant for one in builds.candidates] == ["pip:thing==1", "pip:thing==2+cpu"]


@pytest.mark.parametrize(
    ("good", "bad", "text"),
    [
        ("git:.@HEAD", "git:../suite@HEAD", "are from two repositories"),
        ("pip:thing==1", "pip:other==2", "are two packages"),
        ("pip:thing==5", "pip:thing==1", "pip:thing==5 is newer than pip:thing==1: swap them"),
        ("pip:thing>=1", "pip:thing==2", "is not one release: give pip:NAME==VERSION"),
        ("pip:--index-url=x", "pip:thing==2", "is not a requirement"),
        ("pip:no-such-thing==1", "pip:no-such-thing==2", "pip finds no releases of no-such-thing"),
    ],
)
def test_wrong_ends_are_a_line(folder, good, bad, text):
    with pytest.raises(UsageError, match=re.escape(text)):
        history.History.between(good, bad, folder)
