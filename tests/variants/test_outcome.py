"""More of it on real tests in tests/compare/ab/test_worker.py."""

from types import SimpleNamespace

import pytest

from gnnbench.variants import outcome
from tests.suite import ROOT


def report(text, state="failed", **more):
    states = {one: one == state for one in ("passed", "skipped", "failed")}
    return SimpleNamespace(longrepr=text, **states, **more)


@pytest.mark.parametrize(
    ("longrepr", "line"),
    [
        (("file", 3, "Skipped: not here"), "skipped: not here"),
        (SimpleNamespace(reprcrash=SimpleNamespace(message="ValueError: one\n two")), "ValueError: one"),
        ("somewhere\nE   what it is  about\nE   more", "what it is about"),
        ("only\nlast\n\n", "last"),
        (None, "None"),
        ("", ""),
        ("x" * 1000, "x" * 300),
    ],
)
def test_a_line(longrepr, line):
    assert outcome.line(report(longrepr)) == line


def test_the_first_failure_counts():
    passed, failed = report(None, "passed"), report("last line")
    assert outcome.failure({"setup": passed, "call": passed}) is None
    assert (
        outcome.failure({"setup": failed, "teardown": report("later")}).text == "raised in set-up: last line"
    )
    assert outcome.failure({"call": failed}) == outcome.Failure("raised: last line", skipped=False)


def test_a_skip_is_told_from_a_failure():
    skip = report(("file", 3, "Skipped: not here"), "skipped")
    assert outcome.failure({"setup": skip}) == outcome.Failure("skipped: not here", skipped=True)


@pytest.mark.parametrize(("reason", "shown"), [("", "(xfail)"), ("known", "(xfail: known)")])
def test_an_expected_failure(reason, shown):
    found = outcome.failure({"call": report("", "skipped", wasxfail=reason)})
    assert found.text == f"failed, as expected {shown}"
    assert outcome.failure({"call": report("", "passed", wasxfail=reason)}) is None


@pytest.mark.parametrize(
    ("plugins", "said"),
    [
        ((), ""),
        (("gnnbench",), f" (gnnbench in {ROOT} is older and brings no fixtures)"),
        (("gnnbench", outcome.FIXTURES), f" (fixtures of gnnbench in {ROOT})"),
    ],
)
def test_whose_fixtures_a_session_has(plugins, said):
    manager = pytest.PytestPluginManager()
    for name in plugins:
        manager.register(object(), name)
    assert outcome.fixtures(SimpleNamespace(pluginmanager=manager)) == said
