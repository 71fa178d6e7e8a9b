"""Repositories whose commits have known times on the simulated clock."""

from tests.engine.process.variants.repositories import commit_all, git, without_settings
from tests.engine.process.workers import machine, write

SUITE = """
import pytest
import thing

@pytest.mark.parametrize("name", ["one", "two"])
def test_thing(benchmark, name):
    benchmark(getattr(thing, name), 1)
"""
ONE, TWO = (f"test_suite.py::test_thing[{name}]" for name in ("one", "two"))
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "GNNBENCH_FAKE_CLOCK": "5:truths.json"}
"""Variables of a command: no plugin but those that it needs, and the simulated clock."""


def content(number, one=1.0, two=1.0):
    """Return the module at a commit: two functions that take so many milliseconds."""
    functions = "".join(
        f"{name.upper()} = {ratio * 1e-3}\ndef {name}(x):\n    return x + {round(ratio * 1000)} & 0\n"
        for name, ratio in (("one", one), ("two", two))
    )
    return f"{functions}# {number}\n"


def create(folder, commits, monkeypatch):
    """Make a repository with a commit for each content of the module; the first has the tag `good`."""
    without_settings(monkeypatch)
    write(folder, SUITE)
    truths = {f"test_thing[{name}]": f"thing:{name.upper()}" for name in ("one", "two")}
    machine(folder / "truths.json", truths, sigma=0.01, drift=0.02, process_sigma=0.005)
    for number, text in enumerate(commits):
        (folder / "thing.py").write_text(text)
        commit_all(folder, f"change {number}")
        if not number:
            git(folder, "tag", "good")
    return folder


def hash_of(folder, number):
    return git(folder, "log", "--format=%H", f"--grep=^change {number}$", "main")
