import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.measure import stopping
from gnnbench.engine.measure.estimate import block_values, estimate
from gnnbench.engine.measure.stopping import (
    LEAST_SECONDS,
    MAX_ROUNDS,
    Stopping,
    TimeBudget,
    rounds_per_block,
    variance_components,
)

BLOCKS = st.lists(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=5), min_size=1, max_size=60)
SECONDS = st.floats(1e-9, 1e3)


def test_effort_goes_where_variance_is_and_cost_is_not(monkeypatch):
    def rounds(between, within, renewal_seconds):
        monkeypatch.setattr(stopping, "variance_components", lambda _: (between, within))
        return rounds_per_block([], 1.0, renewal_seconds, 1e6)

    assert rounds(1, 4, 1) == 2
    assert rounds(1, 4, 9) == 6
    assert rounds(4, 1, 1) == 1, "at least one"
    assert rounds(0, 1, 1) == MAX_ROUNDS
    assert rounds(0, 0, 1) == 1


def test_components_are_found_again():
    random = np.random.default_rng(0)
    layouts = random.normal(0, 0.3, 2000)
    blocks = np.exp(layouts[:, None] + random.normal(0, 0.1, (2000, 4)))
    between, within = variance_components(blocks.tolist())
    assert between == pytest.approx(0.09, rel=0.1)
    assert within == pytest.approx(0.01, rel=0.1)
    assert variance_components([[1.0, 2.0]]) == (0, 0)
    assert variance_components([[1.0], [2.0]]) == (0, 0)


@given(BLOCKS, SECONDS, SECONDS, SECONDS)
def test_rounds_of_a_block_are_within_bounds(blocks, round_seconds, renewal_seconds, max_seconds):
    assert 1 <= rounds_per_block(blocks, round_seconds, renewal_seconds, max_seconds) <= MAX_ROUNDS


@given(BLOCKS, st.floats(0, 1e3), st.integers(1, 50), st.floats(0.001, 0.5), SECONDS)
def test_budget_and_minimum_are_honoured(blocks, elapsed, min_rounds, precision, max_seconds):
    reason = Stopping(precision, max_seconds, min_rounds).reason(blocks, elapsed)
    rounds = sum(map(len, blocks))
    if rounds < min_rounds:
        assert reason is None
    elif elapsed >= max_seconds:
        assert reason == "time"
    else:
        assert reason in (None, "precision")
    assert Stopping(precision, max_seconds, 1).reason(blocks, math.nan) == "time"


def test_precision_ends_it_once_it_is_reached_and_not_before():
    random = np.random.default_rng(1)
    stopping, blocks = Stopping(0.02, 1e9, 5), []
    while stopping.reason(blocks, 0.0) is None:
        blocks.append([float(np.exp(random.normal(0, 0.05)))])
    assert 20 < len(blocks) < 1000
    assert estimate(block_values(blocks)).half_width <= 0.02


def test_each_benchmark_gets_an_equal_part_of_what_is_left_without_its_set_up():
    budget = TimeBudget(100.0, 5)
    assert budget.next_seconds() == 20
    budget.spend(20, 18)  # with 2 s of set-up
    assert budget.next_seconds() == 80 / 4 - 2
    budget.spend(5, 3)  # was precise early
    assert budget.next_seconds() == 75 / 3 - 2
    budget.spend(65, 13)  # was slow, and compiled
    assert budget.next_seconds() == 10 / 2 - 2
    budget.spend(9, 8)
    assert budget.next_seconds() == LEAST_SECONDS
