"""The base against itself, and what changed in pairs of two processes."""

import numpy as np
import pytest

from gnnbench.engine.judge.comparison import Compared
from gnnbench.engine.judge.control import RECHECKS, contradiction, control, withheld
from gnnbench.engine.judge.verdict import SAME_CODE, Judgement
from gnnbench.engine.judge.visit import Visit


def visits(ratio, count=RECHECKS, seed=0, between=0.0, noise=0.02, blocks=40):
    """Return visits whose head takes `ratio` times as long, with noise between pairs and of blocks."""
    rng = np.random.default_rng(seed)
    found = []
    for pair in rng.normal(0, between, count):
        base, head = 1e6 * np.exp(rng.normal(0, noise, (2, blocks)))
        found.append(Visit(tuple(base), tuple(ratio * np.exp(pair) * head), blocks, 1.0))
    return found


def controls(count, ratio, seed=0):
    return control(visits(ratio, count, seed, between=0.02, blocks=20))


def test_identical_code_seldom_fails_and_a_difference_does():
    fails = [controls(6, 1.0, seed).fails for seed in range(300)]
    assert sum(fails) <= 9, "1 % is expected"
    assert all(controls(6, 1.2, seed).fails for seed in range(20))
    found = controls(40, 1.0)
    assert found.ratio == pytest.approx(1, abs=0.02)
    assert found.text.startswith("control, base against base: 1.0")
    assert controls(2, 1.0) is None


def test_a_run_whose_control_fails_decides_nothing_by_time():
    slower = Compared("a", Judgement("slower", "time", 1.2, 1.1, 1.3), 1.0)
    same = Compared("b", SAME_CODE, None)
    assert withheld([slower, same], controls(6, 1.0)) == [slower, same]
    first, second = withheld([slower, same], controls(6, 1.2))
    assert first.judgement.verdict == "undecided"
    assert first.judgement.reason.endswith(", so times decide nothing: repeat the run on a quiet machine")
    assert (first.judgement.low, second) == (1.1, same)


@pytest.mark.parametrize(
    ("verdict", "ratio", "apart", "noise", "is_contradicted"),
    [
        ("slower", 1.10, 1.10, 0.02, False),
        ("slower", 1.10, 1.00, 0.02, True),
        ("faster", 0.80, 1.01, 0.02, True),
        ("faster", 0.80, 0.82, 0.02, False),
        ("slower", 1.10, 0.90, 0.02, True),
        ("slower", 1.10, 1.50, 0.02, False),  # even more
        ("slower", 1.10, 1.00, 1.00, False),  # a busy machine tells nothing
    ],
)
def test_a_ratio_is_contradicted_where_two_processes_are_nearer_to_1(
    verdict, ratio, apart, noise, is_contradicted
):
    why = contradiction(Judgement(verdict, "", ratio), visits(apart, noise=noise))
    assert (why is not None) == is_contradicted
    if why:
        assert why.startswith(f"{ratio:.2f}x with both sides in one process, but ")
        assert why.endswith("x in 4 pairs of processes: not confirmed")


def test_without_pairs_nothing_is_contradicted():
    assert contradiction(Judgement("slower", "", 1.1), []) is None
