"""`gnnbench ab` on the simulated machine of experiments/ab: runs of fixed seeds.

What is claimed of 2,000 runs is asserted with room for chance: it fails once in a thousand times.
"""

import importlib.util
import json
import sys

import numpy as np
import pytest
from scipy import stats

from tests.suite import ROOT

SIZES = [(20, 12), pytest.param((100, 60), marks=pytest.mark.nightly)]
"""Runs of identical code; runs with each slowdown."""


@pytest.fixture(scope="module")
def simulate():
    # By its path: experiments/verdict has a module of the same name.
    spec = importlib.util.spec_from_file_location("ab_simulate", ROOT / "experiments" / "ab" / "simulate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=SIZES, ids=["short", "full"])
def result(simulate, request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulate, "EFFECTS", (0.0, 0.05))
        one_mode = {kind: case for kind, case in simulate.FEW.items() if not case.fast_share}
        patch.setattr(simulate, "FEW", one_mode)
        patch.setitem(sys.modules, "ab_simulate", simulate)  # for the forked processes
        return simulate.simulate(*request.param, seed=3)


def at_most(runs, rate):
    return stats.binom.isf(0.001, runs, rate)


def test_identical_code_raises_hardly_an_alarm(result):
    assert result["alarms"] <= at_most(result["runs"], 12 / 2000)


def test_slowdowns_are_found(result):
    found = result["one mode"]["slowed"]["0.05"]["found"]
    runs = result["power_runs"]
    assert runs * (1 - found) <= at_most(runs, 0.05)
    assert result["two modes"]["slowed"]["0.05"]["found"] > 0.8


def test_identical_benchmarks_are_called_the_same(result):
    assert result["one mode"]["identical"]["same"] > 0.9
    assert result["two modes"]["identical"]["same"] > 0.9


def test_intervals_hold_what_they_say(result):
    assert result["covered_family"] > 0.96
    assert result["covered_own"] > 0.95


def test_stopping_early_takes_less_time_than_a_sample_of_fixed_size(result):
    enough = result["fixed"]["seconds"]
    assert result["one mode"]["slowed"]["0.05"]["seconds"]["median"] < 0.85 * enough
    assert result["one mode"]["identical"]["seconds"]["median"] < enough


def test_few_that_vary_much_show_what_is_large(result):
    for found in result["few"].values():
        assert found["alarms"] <= at_most(result["runs"], 0.015)
        assert found["found"] > 0.6


def test_processes_of_two_modes_are_compared_with_their_like(simulate):
    """Of 600 runs of identical code 42 had an alarm while pairs were held against the fastest process."""
    runs = [simulate.few("four, three processes in ten are fast", seed, 0.0) for seed in range(20)]
    assert not any(run["alarm"] for run in runs)
    assert np.mean([run["same"] for run in runs]) > 0.8


def test_blocks_drawn_from_simulated_ones_are_as_those_of_simulated_rounds(simulate):
    random = np.random.default_rng(1)
    drawn = simulate.medians()[random.integers(0, 200_000, 20_000)]
    whole = np.median(simulate.rounds(random, 20_000), axis=1)
    assert stats.ks_2samp(drawn, whole).pvalue > 0.001


def test_finished_runs_are_kept_and_not_run_again(simulate, tmp_path, monkeypatch):
    monkeypatch.setattr(simulate, "EFFECTS", (0.0, 0.05))
    monkeypatch.setitem(sys.modules, "ab_simulate", simulate)
    keep = tmp_path / "runs.jsonl"
    first = simulate.simulate(2, 1, 5, keep)
    lines = keep.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4 + 3 * len(simulate.FEW)
    assert {json.loads(line)["kind"] for line in lines} == {"adaptive", "fixed", *simulate.FEW}
    keep.write_text("\n".join(lines[:3]) + '\n{"kind": "ada', encoding="utf-8")  # stopped while it wrote
    assert simulate.simulate(2, 1, 5, keep) == first
    monkeypatch.setattr(simulate, "one_run", None)
    assert simulate.simulate(2, 1, 5, keep) == first
