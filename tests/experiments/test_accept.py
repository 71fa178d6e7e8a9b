"""The simulated year of experiments/accept, with fixed seeds."""

import pytest

from experiments.accept import year

SIZES = [(1, 1, 6, 2), (3, year.WINDOWS, 20, 1)]
"""Years, windows of 50 commits in each, benchmarks, and how many commits the gate sees one of."""


@pytest.mark.nightly
@pytest.mark.parametrize(("years", "windows", "benchmarks", "every"), SIZES, ids=["short", "full"])
def test_what_is_accepted_is_silent_and_the_rest_is_reported(monkeypatch, years, windows, benchmarks, every):
    monkeypatch.setattr(year.ab, "NAMES", year.ab.NAMES[-benchmarks:])
    gate = year.Year._gate
    seen = lambda self, number, *rest: None if number % every else gate(self, number, *rest)  # noqa: E731
    monkeypatch.setattr(year.Year, "_gate", seen)
    result = year.summary([year.one_year(seed, windows) for seed in range(5, 5 + years)])
    assert result["accepted benchmarks"] > 8 * years
    assert result["of these slower"] == 0, "nothing fails while its acceptance holds"
    assert result["of these reported"] == result["expired benchmarks"] > 0
    for kind in ("alone", "again"):
        found = result[f"unintended, {kind}"]
        assert found["found before mended"] == found["count"] > 0
    assert all(size < 0.1 for size in result["unintended, on top"]["missed"])
    assert result["of these failed"] <= 0.01 * result["commits without a slowdown"]
    assert result["of these named as recovered"] == result["undone benchmarks"] > 0
    assert result["wrongly named as recovered"] == 0
