"""What changed, in pairs of two processes."""

import numpy as np
import pytest

from gnnbench.engine.judge.trial import RECHECKS, contradiction
from gnnbench.engine.judge.verdict import Judgement
from gnnbench.engine.judge.visit import Visit


def visits(ratio, noise):
    """Return visits whose head takes `ratio` times as long, with noise of blocks."""
    times = 1e6 * np.exp(np.random.default_rng(0).normal(0, noise, (RECHECKS, 2, 40)))
    return [Visit(tuple(base), tuple(ratio * head), len(base), 1.0) for base, head in times]


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
def test_two_processes_nearer_to_1_contradict_a_ratio(verdict, ratio, apart, noise, is_contradicted):
    why = contradiction(Judgement(verdict, "", ratio), visits(apart, noise))
    assert (why is not None) == is_contradicted
    if why:
        assert why.startswith(f"not confirmed: {ratio:.2f}x with both sides in one process, but ")
        assert why.endswith("x with a process for each")


def test_without_pairs_nothing_is_contradicted():
    assert contradiction(Judgement("slower", "", 1.1), []) is None
