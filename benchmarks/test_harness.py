"""The cost of timing: 1,000 rounds of an empty function, in a bare loop and with the suite's clock.

The difference is the clock's overhead. It must be below a microsecond per round (1.00 ms for all rounds),
because each measured time includes it.
"""

from time import perf_counter

import pytest

ROUNDS = 1000


@pytest.mark.operations("harness_bare_loop")
def test_bare_loop(case, measure):
    """Read perf_counter before and after each call; append the difference to a list."""

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
    """Time a block of rounds with the clock, and add the block to a measurement."""
    from gnnbench.engine.measure.clock import Call, HostClock
    from gnnbench.engine.measure.measurement import Measurement

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
