"""`gnnbench bisect` between releases in a local folder."""

import re

import pytest

from gnnbench.engine.drive.bisect import history
from gnnbench.engine.ground.errors import UsageError
from tests.engine.process.variants.repositories import commit, wheel, without_settings


def test_yanked_and_early_releases_are_no_candidates(tmp_path, monkeypatch):
    without_settings(monkeypatch)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for number in ("1", "2", "2+cpu", "3", "4", "4.5rc1", "5"):
        wheel(wheels, "thing", number)
    index = tmp_path / "index.html"
    links = [
        f'<a href="{file.as_uri()}"{" data-yanked=bad" if "-3-" in file.name else ""}>{file.name}</a>'
        for file in sorted(wheels.iterdir())
    ]
    index.write_text(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    up = history.History.between("pip:thing==1", "pip:thing==5", tmp_path)
    assert up.candidates[0].name == "thing 1"
    assert [one.cause.name for one in up.candidates[1:]] == ["thing 2", "thing 4", "thing 5"]
    assert [one.variant for one in up.candidates[1:]] == ["pip:thing===2", "pip:thing==4", "pip:thing==5"]
    builds = history.History.between("pip:thing==1", "pip:thing==2+cpu", tmp_path)
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
def test_wrong_ends_are_a_line(tmp_path, monkeypatch, good, bad, text):
    without_settings(monkeypatch)
    folder = tmp_path / "suite"
    folder.mkdir()
    commit(folder, 1)
    with pytest.raises(UsageError, match=re.escape(text)):
        history.History.between(good, bad, folder)
