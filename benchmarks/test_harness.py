"""What timing itself costs: rounds of nothing, by a bare loop and as the suite times and keeps them.

Their difference, divided by the thousand rounds, is what the harness adds to a round. It must stay below a
microsecond, so below 1.00 ms here, or short kernels would be timed with it.
"""

from time import perf_counter

import pytest

ROUNDS = 1000


@pytest.mark.operations("harness_bare_loop")
def test_bare_loop(case, measure):
    """Two readings of perf_counter around each call, and a list."""

    def rounds(x):
        seconds = []
        for _ in range(ROUNDS):
            start = perf_counter()
            nothing(x)
            seconds.append(perf_counter() - start)
        return x

    measure(rounds, case.features(1), reference=itself)


@pytest.mark.operations("harness_rounds")
def test_rounds(case, measure):
    """The clock's block and the measurement that keeps it."""
    from gnnbench.measure.clock import Call, HostClock
    from gnnbench.measure.measurement import Measurement

    clock = HostClock(perf_counter, 1e-7)

    def rounds(x):
        measurement = Measurement(clock.name, "sampled")
        measurement.add(clock.block(Call(nothing, (x,), {}), ROUNDS, 1))
        return x

    measure(rounds, case.features(1), reference=itself)


def nothing(_x):
    pass


def itself(_graph, x):
    return x
