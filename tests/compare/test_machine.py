import math

import pytest

from gnnbench.compare import machine


def times(*factors):
    return [
        (math.log(1e6 * number * factor), math.log(1e6 * number)) for number, factor in enumerate(factors, 1)
    ]


def test_the_factor_of_the_middle_benchmark():
    assert machine.factor(times(1.3, 1.2, 5.0)) == pytest.approx(1.3)
    assert machine.factor(times(0.5, 0.7)) == pytest.approx(math.sqrt(0.35))


def test_a_small_or_unknown_factor_is_not_reported():
    assert machine.factor(times(1.09, 0.93)) is None
    assert machine.factor([]) is None
