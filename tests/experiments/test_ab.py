"""`gnnbench ab` on the simulated machine of experiments/ab: runs of fixed seeds.

What is claimed of 2,000 runs is asserted with room for chance: it fails once in a thousand times.
"""

import numpy as np
import pytest
from scipy import stats

from experiments.ab import simulate


def at_most(runs, rate):
    return stats.binom.isf(0.001, runs, rate)


@pytest.mark.nightly
def test_slowdowns_are_found_and_identical_code_raises_hardly_an_alarm(monkeypatch):
    monkeypatch.setattr(simulate, "EFFECTS", (0.0, 0.05))
    one_mode = {kind: case for kind, case in simulate.FEW.items() if not case.fast_share}
    monkeypatch.setattr(simulate, "FEW", one_mode)
    result = simulate.simulate(100, 60, seed=3)
    assert result["alarms"] <= at_most(result["runs"], 12 / 2000)
    one, two = result["one mode"], result["two modes"]
    missed = result["power_runs"] * (1 - one["slowed"]["0.05"]["found"])
    assert missed <= at_most(result["power_runs"], 0.05)
    assert two["slowed"]["0.05"]["found"] > 0.8
    assert min(one["identical"]["same"], two["identical"]["same"]) > 0.9
    # Intervals hold what they say.
    assert result["covered_family"] > 0.96
    assert result["covered_own"] > 0.95
    # Few that vary much show what is large.
    for found in result["few"].values():
        assert found["alarms"] <= at_most(result["runs"], 0.015)
        assert found["found"] > 0.6


def test_processes_of_two_modes_are_compared_with_their_like():
    """Of 600 runs of identical code 42 had an alarm while pairs were held against the fastest process."""
    runs = [simulate.few("four, three processes in ten are fast", seed, 0.0) for seed in range(10)]
    assert not any(run["alarm"] for run in runs)
    assert np.mean([run["same"] for run in runs]) > 0.8
