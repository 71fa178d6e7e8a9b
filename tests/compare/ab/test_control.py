"""The base against itself."""

import numpy as np
import pytest

from gnnbench.engine.judge.comparison import Compared
from gnnbench.engine.judge.control import control, withheld
from gnnbench.engine.judge.verdict import SAME_CODE, Judgement
from gnnbench.engine.judge.visit import Visit


def visits(count, ratio, seed=0):
    """Return visits whose head takes `ratio` times as long, with noise of 2 % between pairs and blocks."""
    rng = np.random.default_rng(seed)
    found = []
    for between in rng.normal(0, 0.02, count):
        base, head = (1e6 * np.exp(rng.normal(0, 0.02, (2, 20)))).tolist()
        found.append(Visit(tuple(base), tuple(ratio * np.exp(between) * one for one in head), 20, 1.0))
    return found


def test_identical_code_seldom_fails_and_a_difference_does():
    fails = [control(visits(6, 1.0, seed)).fails for seed in range(300)]
    assert sum(fails) <= 9, "1 % is expected"
    assert all(control(visits(6, 1.2, seed)).fails for seed in range(20))
    found = control(visits(40, 1.0))
    assert found.ratio == pytest.approx(1, abs=0.02)
    assert found.text.startswith("base against itself 1.0")
    assert control(visits(2, 1.0)) is None


def test_a_run_whose_control_fails_decides_nothing_by_time():
    slower = Compared("a", Judgement("slower", "time", 1.2, 1.1, 1.3), 1.0)
    same = Compared("b", SAME_CODE, None)
    assert withheld([slower, same], control(visits(6, 1.0))) == [slower, same]
    first, second = withheld([slower, same], control(visits(6, 1.2)))
    assert first.judgement.reason.endswith(", so times decide nothing: repeat it on a quiet machine")
    assert (first.judgement.verdict, first.judgement.low, second) == ("undecided", 1.1, same)
