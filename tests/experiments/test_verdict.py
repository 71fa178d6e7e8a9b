"""The rule on the simulated machine of experiments/verdict: runs of fixed seeds."""

import pytest

from tests.runs import ROOT

RUNS = [8, pytest.param(200, marks=pytest.mark.nightly)]


@pytest.mark.parametrize("runs", RUNS, ids=["short", "full"])
def test_slowdowns_are_found_and_identical_code_raises_hardly_an_alarm(monkeypatch, runs):
    monkeypatch.syspath_prepend(ROOT / "experiments" / "verdict")
    from experiments.verdict import simulate

    monkeypatch.setattr(simulate, "EFFECTS", (0.08, 0.3))  # its processes are forked, and have them too
    steady, drifting = (simulate.simulate(runs, seed=3, drift=drift) for drift in (0.0, 0.2))
    designs = ("5v1", "5v3", "5v5")
    for result in (steady, drifting):
        for deviation in ("0.01", "0.03"):
            assert all(result[f"{deviation} {design}"]["alarms"] <= 3 for design in (*designs, "gate"))
            for design in designs:
                one = result[f"{deviation} {design}"]
                assert one["covered_own"] > (0.9 if runs < 100 else 0.94)
                assert round(runs * (1 - one["covered_family"])) <= max(1, runs // 50)
    # More processes find more.
    found = [steady[f"0.01 {design}"]["found"]["0.08"]["one mode"] for design in designs]
    assert found == sorted(found)
    assert found[-1] > 0.9
    assert steady["0.03 5v5"]["found"]["0.3"]["two modes"] > 0.95
    assert steady["0.01 gate"]["found"]["0.3"] > 0.95
    # The rules of other tools cry wolf on the same streams of a machine that drifts.
    assert min(rule["any"] for rule in drifting["rules"].values()) > 0.5
    assert max(rule["found"] for rule in drifting["rules"].values()) < (0.9 if runs < 100 else 0.7)
