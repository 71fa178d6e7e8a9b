import numpy as np

from gnnbench.report.layouts import thinned
from gnnbench.report.view import BenchmarkView, Measured, ProcessBlocks


def benchmark(*counts, seconds=2e-3):
    random = np.random.default_rng(1)
    sides = ["base"] * (len(counts) - 1) + ["head"]
    processes = tuple(
        ProcessBlocks(side, tuple(random.lognormal(np.log(seconds * 1e9), 0.1, count)))
        for side, count in zip(sides, counts, strict=True)
    )
    measured = Measured(seconds, seconds * 0.99, None, 0.99, "first decile")
    return BenchmarkView("a", "a", "", seconds=seconds, measured=measured, processes=processes)


def test_layouts_keep_their_order_and_a_thousandth_of_the_time():
    one = benchmark(30, 7)
    found = thinned(one, 50)
    assert (found.unit, found.step, found.counts) == ("ms", 0.002, (30, 7))
    assert found.names() == ["older 1", "this run"]
    for process, times in zip(one.processes, found.times, strict=True):
        assert np.allclose(
            np.array(times) * found.step, np.array(process.blocks_ns) / 1e6, atol=found.step / 2
        )
    rows = found.rows()
    assert len(rows) == 37
    assert (rows[0]["order"], rows[29]["order"], rows[30]["process"]) == (0, 1, "this run")
    assert found.interval(one) == [{"low": 1.98, "high": 2.0, "time": 2.0}]


def test_of_many_some_are_kept_and_the_quantiles_are_of_all():
    one = benchmark(1000, 999)
    found = thinned(one, 40)
    assert [len(times) for times in found.times] == [40, 40]
    for process, quantiles in zip(one.processes, found.quantiles, strict=True):
        expected = np.quantile(process.blocks_ns, (0, 0.1, 0.5, 0.9, 1)) / 1e6
        assert np.allclose(np.array(quantiles) * found.step, expected, atol=found.step / 2)
        assert found.times[0][0] == round(one.processes[0].blocks_ns[0] / 1e6 / found.step)
