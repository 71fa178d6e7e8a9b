from xml.etree import ElementTree as ET

import numpy as np

from gnnbench.engine.show.charts import layouts
from gnnbench.engine.show.numbers import thinned
from gnnbench.engine.show.style import PAGE, SLIDE
from gnnbench.engine.show.view import BenchmarkView
from gnnbench.engine.store.benchmark import Benchmark


def benchmark(*counts, seconds=2e-3):
    """Return a benchmark with so many rounds in each process; the last process is the newer side."""
    random = np.random.default_rng(1)
    *before, timed = (
        Benchmark("a", (), rounds_seconds=tuple(random.lognormal(np.log(seconds), 0.1, count).tolist()))
        for count in counts
    )
    return BenchmarkView("a", "a", "", timed=timed, before=tuple(before))


def test_layouts_keep_their_order():
    one = benchmark(30, 15)
    found = thinned(one, 50)
    middle = 1e3 * one.seconds
    assert (found.unit, found.counts) == ("ms", (30, 15))
    assert found.names() == ["older 1", "this run"]
    for process, times in zip(one.processes, found.times, strict=True):
        assert np.allclose(times, np.array(process.blocks_ns) / 1e6)
    older, newer = found.bands()
    assert (len(older.times), newer.label, newer.is_newer) == (30, "this run", True)
    assert [band.label for band in found.of_sides()] == ["older side, 1 process", "newer side, 1 process"]
    low, time, high = (found.interval(one)[name] for name in ("low", "time", "high"))
    assert low < time == middle < high
    few = benchmark(3)
    found = thinned(few, 50).interval(few)
    assert {*found.values()} == {1e3 * few.seconds}, "no bounds are known"


def test_of_many_some_are_kept_and_the_quantiles_are_of_all():
    one = benchmark(1000, 999)
    found = thinned(one, 40)
    assert [len(times) for times in found.times] == [40, 40]
    for process, quantiles in zip(one.processes, found.quantiles, strict=True):
        expected = np.quantile(process.blocks_ns, (0, 0.1, 0.5, 0.9, 1)) / 1e6
        assert np.allclose(quantiles, expected)
        assert np.isclose(found.times[0][0], one.processes[0].blocks_ns[0] / 1e6)


def test_layouts_are_drawn_once_as_wide_as_their_place_or_as_a_slide():
    one = benchmark(30, 15)
    found = thinned(one, 50)
    page, slide = (layouts.svg(found.bands(), found.interval(one), "ms", style) for style in (PAGE, SLIDE))
    for text in (page, slide):
        root = ET.fromstring(text)
        places = [dot.get("cx") for dot in root.iter() if dot.tag.endswith("circle")]
        assert len(places) == 45
        assert all(place.endswith("%") == (text is page) for place in places)
    assert 'width="100%"' in page
    assert f'width="{SLIDE.whole}"' in slide
    alone = layouts.svg([layouts.Band("this run", True, [1.0])], None, "ms", PAGE)
    assert alone.count("<circle") == 1
