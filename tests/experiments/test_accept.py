"""The simulated year of experiments/accept, with fixed seeds."""

import pytest

from experiments.accept import year

SIZES = [(1, 1), pytest.param((3, year.WINDOWS), marks=pytest.mark.nightly)]
"""Years, and windows of 50 commits in each."""


@pytest.fixture(scope="module", params=SIZES, ids=["short", "full"])
def result(request):
    years, windows = request.param
    return year.summary([year.one_year(seed, windows) for seed in range(5, 5 + years)])


def test_nothing_fails_while_its_acceptance_holds(result):
    assert result["accepted benchmarks"] > 10 * result["years"]
    assert result["of these slower"] == 0


def test_expired_slowdowns_are_reported(result):
    assert result["of these reported"] == result["expired benchmarks"] > 0


def test_unintended_slowdowns_are_reported(result):
    for kind in ("alone", "again"):
        found = result[f"unintended, {kind}"]
        assert found["found before mended"] == found["count"] > 0
    assert all(size < 0.1 for size in result["unintended, on top"]["missed"])


def test_hardly_any_commit_without_a_slowdown_fails(result):
    assert result["of these failed"] <= 0.01 * result["commits without a slowdown"]


def test_what_is_undone_is_named(result):
    assert result["of these named as recovered"] == result["undone benchmarks"] > 0
    assert result["wrongly named as recovered"] == 0
