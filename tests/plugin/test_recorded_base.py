import math

import pytest

from gnnbench.engine.plugin.recorded_base import since_record


@pytest.mark.parametrize(
    ("factors", "expected"),
    [((1.3, 1.2, 5.0), 1.3), ((0.5, 0.7), math.sqrt(0.35)), ((1.09, 0.93), None), ((), None)],
)
def test_since_a_record_the_machine_changed_by_the_factor_of_the_middle_benchmark(factors, expected):
    times = [(math.log(1e6 * number * one), math.log(1e6 * number)) for number, one in enumerate(factors, 1)]
    assert since_record(times) == (expected and pytest.approx(expected))
