"""Commands that build both sides of a package with an extension module."""

import json

import pytest

from tests.suite import gnnbench
from tests.variants import compiled
from tests.variants.repositories import git, without_settings


@pytest.fixture
def folder(tmp_path, monkeypatch):
    without_settings(monkeypatch)
    folder = compiled.create(tmp_path / "fastk")
    (folder / "gnnbench.toml").write_text(f'build = "{compiled.IN_PLACE}"\n')
    return folder


def affected(folder, *words):
    """Return what `affected` prints, and what differs by benchmark."""
    arguments = ("affected", *words, "--json", "a.json")
    result = gnnbench(*arguments, cwd=folder, GNNBENCH_CACHE=str(folder / ".cache"))
    assert result.returncode == 0, result.stderr
    rows = json.loads((folder / "a.json").read_text())["benchmarks"]
    return result, {name.partition("::")[2]: row["work"]["changed"] for name, row in rows.items()}


def test_both_sides_are_built(folder):
    git(folder, "checkout", "-q", "v1")
    (folder / "fastk" / "k.c").write_text(compiled.SOURCE.replace("weigh(1.0, ", "weigh(1.0, 7 + "))
    result, changed = affected(folder, "git:v1", ".")
    assert "built the working tree in " in result.stderr
    assert "_k." in changed["test_work"]["libraries"][0]
    assert not list((folder / "fastk").glob("*.so"))


def test_a_comment_changes_nothing_and_a_function_that_differs_is_named(folder):
    result, changed = affected(folder, "git:v1", "git:v2")
    assert "0 of 2 benchmarks run changed code, 2 run the same code" in result.stdout
    result, changed = affected(folder, "git:v2", "git:v3")
    assert changed["test_work"]["libraries"] == ["work in _k.so"]
    assert "built git:v2" not in result.stderr, "it is kept"
