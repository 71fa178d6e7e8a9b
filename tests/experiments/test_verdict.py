"""The rule on the simulated machine of experiments/verdict: runs of fixed seeds."""

import sys

import pytest

from tests.suite import ROOT

SIZES = [40, pytest.param(200, marks=pytest.mark.nightly)]


@pytest.fixture(scope="module", params=SIZES, ids=["short", "full"])
def result(request):
    sys.path.insert(0, str(ROOT / "experiments" / "verdict"))
    try:
        import simulate

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(simulate, "EFFECTS", (0.08, 0.3))  # its processes are forked, and have them too
            return simulate.simulate(request.param, seed=3)
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize("design", ["5v1", "5v3", "5v5", "gate"])
@pytest.mark.parametrize("deviation", ["0.01", "0.03"])
def test_identical_code_raises_hardly_an_alarm(result, deviation, design):
    assert result[f"{deviation} {design}"]["alarms"] <= 3


def test_slowdowns_are_found_and_more_processes_find_more(result):
    found = [result[f"0.01 {design}"]["found"]["0.08"]["one mode"] for design in ("5v1", "5v3", "5v5")]
    assert found == sorted(found)
    assert found[-1] > 0.9
    assert result["0.03 5v5"]["found"]["0.3"]["two modes"] > 0.95
    assert result["0.01 gate"]["found"]["0.3"] > 0.95


def test_intervals_hold_what_they_say(result):
    for deviation in ("0.01", "0.03"):
        for design in ("5v1", "5v3", "5v5"):
            assert result[f"{deviation} {design}"]["covered_own"] > 0.94
            missed = result["runs"] * (1 - result[f"{deviation} {design}"]["covered_family"])
            assert round(missed) <= max(1, result["runs"] // 50)


def test_the_rules_of_other_tools_cry_wolf_on_the_same_streams(result):
    assert min(rule["any"] for rule in result["rules"].values()) > 0.5
    assert max(rule["found"] for rule in result["rules"].values()) < 0.7
