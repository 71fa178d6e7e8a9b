from xml.etree import ElementTree as ET

import numpy as np
import pytest

from gnnbench.engine.ground import units
from gnnbench.engine.show.measured import Measured, time_of
from gnnbench.engine.show.numbers import layouts
from gnnbench.engine.store.run_file import Benchmark


def drawn(count):
    """Return the chart of a benchmark with so many rounds, and their places in percent."""
    rounds = np.random.default_rng(1).lognormal(np.log(2e-3), 0.1, count)
    one = Benchmark("a", (), rounds_seconds=tuple(rounds.tolist()))
    root = ET.fromstring(layouts(time_of(one)))
    places = [dot.get("cx") for dot in root.iter() if dot.tag.endswith("circle")]
    assert all(place.endswith("%") for place in (*places, root.get("width")))
    return root, rounds, [float(place.rstrip("%")) for place in places]


def test_layouts_keep_their_order_beside_the_time_and_its_interval():
    root, rounds, places = drawn(30)
    slope, _ = np.polyfit(rounds, places, 1)
    assert np.diff(places) == pytest.approx(slope * np.diff(rounds), abs=0.1)
    ends = " to ".join(units.seconds(bound(rounds)) for bound in (min, max))
    assert "".join(root.itertext()) == f"time of a call: {ends}"
    assert sum(one.tag.endswith("rect") for one in root.iter()) == 1


def test_of_many_some_are_drawn_evenly_spaced():
    _, _, places = drawn(1000)
    assert len(places) == 200
    assert layouts(Measured(1.0, None, "", blocks=(1.0,))).count("<circle") == 1
