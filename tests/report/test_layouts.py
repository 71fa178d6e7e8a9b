from xml.etree import ElementTree as ET

import numpy as np
import pytest

from gnnbench.engine.show.charts import layouts
from gnnbench.engine.show.measured import block_medians
from gnnbench.engine.show.numbers import Numbers
from gnnbench.engine.show.style import PAGE, SLIDE
from gnnbench.engine.show.view import BenchmarkView
from gnnbench.engine.store.benchmark import Benchmark


def benchmark(*counts, seconds=2e-3):
    """Return a benchmark with so many rounds in each process; the last process is the head."""
    random = np.random.default_rng(1)
    *before, timed = (
        Benchmark("a", (), rounds_seconds=tuple(random.lognormal(np.log(seconds), 0.1, count).tolist()))
        for count in counts
    )
    return BenchmarkView("a", "a", timed=timed, before=tuple(before))


def test_layouts_keep_their_order():
    one = benchmark(30, 15)
    found = one.layouts.thinned(50)
    older, newer = found.bands
    assert found.unit == "ms"
    for (times,), band in zip(map(block_medians, (*one.before, one.timed)), found.bands, strict=True):
        assert np.allclose(band.times, np.array(times) * 1e3)
    assert (older.label, older.is_newer) == ("base 1", False)
    assert (newer.label, newer.is_newer) == ("this run", True)
    assert [band.label for band in found.of_sides().bands] == ["base, 1 process", "head, 1 process"]
    low, time, high = found.interval
    assert low < time < high
    assert time == pytest.approx(1e3 * one.seconds)
    few = benchmark(3)
    assert few.layouts.interval == pytest.approx([1e3 * few.seconds] * 3), "no bounds are known"


def test_of_many_some_are_kept_and_the_quantiles_are_of_all():
    one = benchmark(1000, 999)
    found = one.layouts.thinned(40).bands
    assert [len(band.times) for band in found] == [40, 40]
    assert found[0].times[0] == one.layouts.bands[0].times[0]
    (row,) = Numbers((one,)).rows
    for band, (_, count, *quantiles) in zip(one.layouts.bands, row["processes"], strict=True):
        expected = np.quantile(band.times, (0, 0.1, 0.5, 0.9, 1))
        assert count == f"{len(band.times):,}"
        assert np.allclose([*map(float, quantiles)], expected, rtol=1e-3)


def test_layouts_are_drawn_once_as_wide_as_their_place_or_as_a_slide():
    one = benchmark(30, 15)
    page, slide = (layouts.svg(one.layouts, style) for style in (PAGE, SLIDE))
    for text in (page, slide):
        root = ET.fromstring(text)
        places = [dot.get("cx") for dot in root.iter() if dot.tag.endswith("circle")]
        assert len(places) == 45
        assert all(place.endswith("%") == (text is page) for place in places)
    assert 'width="100%"' in page
    assert f'width="{SLIDE.whole}"' in slide
    alone = layouts.svg(layouts.Layouts([layouts.Band("this run", True, [1.0])], "ms"), PAGE)
    assert alone.count("<circle") == 1
