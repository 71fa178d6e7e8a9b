"""How a test ended; tests/compare/ab/test_worker.py has real tests."""

from types import SimpleNamespace

import pytest

from gnnbench.engine.process.variants import outcome


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
def test_a_line_of_a_report(longrepr, line):
    assert outcome.line(report(longrepr)) == line


def test_the_first_failure_counts_and_a_skip_is_told_from_it():
    passed, failed = report(None, "passed"), report("last line")
    assert outcome.failure({"setup": passed, "call": passed}) is None
    first = outcome.failure({"setup": failed, "teardown": report("later")})
    assert first.text == "raised in set-up: last line"
    assert outcome.failure({"call": failed}) == outcome.Failure("raised: last line", skipped=False)
    skip = report(("file", 3, "Skipped: not here"), "skipped")
    assert outcome.failure({"setup": skip}) == outcome.Failure("skipped: not here", skipped=True)
    for reason, shown in (("", "(xfail)"), ("known", "(xfail: known)")):
        found = outcome.failure({"call": report("", "skipped", wasxfail=reason)})
        assert found.text == f"failed, as expected {shown}"
        assert outcome.failure({"call": report("", "passed", wasxfail=reason)}) is None


def test_skips_are_counted_with_the_most_frequent_reasons():
    assert outcome.skips([]) == []
    reasons = ["skipped: no GPU", "base and head: skipped: no GPU", "skipped: b", "skipped: c", "skipped: d"]
    assert outcome.skips(reasons) == ["5 benchmarks skipped (no GPU; b; and 2 other reasons)"]
