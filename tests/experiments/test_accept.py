"""The simulated year of experiments/accept, with fixed seeds."""

import pytest

from experiments.accept import year

SIZES = [(1, 1), (3, year.WINDOWS)]
"""Years, and windows of 50 commits in each."""


@pytest.mark.nightly
@pytest.mark.parametrize(("years", "windows"), SIZES, ids=["short", "full"])
def test_what_is_accepted_is_silent_and_the_rest_is_reported(years, windows):
    result = year.summary([year.one_year(seed, windows) for seed in range(5, 5 + years)])
    assert result["accepted benchmarks"] > 10 * years
    assert result["of these slower"] == 0, "nothing fails while its acceptance holds"
    assert result["of these reported"] == result["expired benchmarks"] > 0
    for kind in ("alone", "again"):
        found = result[f"unintended, {kind}"]
        assert found["found before mended"] == found["count"] > 0
    assert all(size < 0.1 for size in result["unintended, on top"]["missed"])
    assert result["of these failed"] <= 0.01 * result["commits without a slowdown"]
    # One that was accepted within a wide interval is not clearly less slow than accepted.
    assert result["of these named as recovered"] >= 0.75 * result["undone benchmarks"] > 0
    assert result["wrongly named as recovered"] == 0
