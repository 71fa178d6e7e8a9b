"""The base against itself."""

import numpy as np
import pytest

from gnnbench.engine.judge.comparison import Compared
from gnnbench.engine.judge.control import Control, control, withhold_verdicts
from gnnbench.engine.judge.verdict import SAME_CODE, Judgement
from gnnbench.engine.judge.visit import Visit


def controls(count, ratio, seed=0):
    """Return the control of visits whose second times are `ratio` times as long, with noise."""
    rng, visits = np.random.default_rng(seed), []
    for pair in rng.normal(0, 0.02, count):
        base, head = 1e6 * np.exp(rng.normal(0, 0.02, (2, 20)))
        visits.append(Visit(tuple(base), tuple(ratio * np.exp(pair) * head), 20, 1.0))
    return control(visits)


def test_identical_code_seldom_fails_and_a_difference_does():
    fails = [controls(6, 1.0, seed).fails for seed in range(300)]
    assert sum(fails) <= 9, "1 % is expected"
    assert all(controls(6, 1.2, seed).fails for seed in range(20))
    found = controls(40, 1.0)
    assert found.ratio == pytest.approx(1, abs=0.02)
    assert found.text.startswith("control, base against base: 1.0")
    assert controls(2, 1.0) is None
    text = Control(6, 1.003, 1.001, 1.004).text
    assert text.startswith("control, base against base: 1.003x (1.001-1.004), so")


def test_a_run_whose_control_fails_decides_nothing_by_time():
    slower = Compared("a", Judgement("slower", "time", 1.2, 1.1, 1.3), 1.0)
    same = Compared("b", SAME_CODE, None)
    assert withhold_verdicts([slower, same], controls(6, 1.0)) == [slower, same]
    first, second = withhold_verdicts([slower, same], controls(6, 1.2))
    assert first.judgement.verdict == "undecided"
    assert first.judgement.reason.endswith(", so no times are judged: repeat the run on a quiet machine")
    assert (first.judgement.low, second) == (1.1, same)
