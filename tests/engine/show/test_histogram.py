from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.show import charts, histogram
from gnnbench.engine.show.charts import SLIDE
from tests.engine.show import contents

STATS = {"median": 2e-3, "q1": 1.5e-3, "q3": 3e-3, "ld15iqr": 1e-3, "hd15iqr": 4e-3}


def theirs(fullname, factor=1.0, **changes):
    """Return a benchmark that pytest-benchmark timed, as its hook gets it."""
    stats = {name: value * factor for name, value in STATS.items()}
    return {"fullname": fullname, "extra_info": {}, "path": None, "source": None, **stats, **changes}


def own(operation, platform, milliseconds, **changes):
    made = contents.ours(operation, platform, milliseconds, **changes)
    return theirs(made["fullname"], milliseconds / 2, extra_info=made["extra_info"])


def drawn(groups, *, by_operation=True):
    return list(histogram.pictures(groups, by_operation=by_operation))


def rows(picture):
    return next(rows for rows in picture.draw(SLIDE)["datasets"].values() if "least" in rows[0])


def words(picture):
    return " ".join(ET.fromstring(charts.svg(picture.draw(SLIDE))).itertext())


def test_own_benchmarks_have_a_picture_for_each_operation_and_graph():
    spmm = [own("spmm_sum", name, 1 + place) for place, name in enumerate(contents.PLATFORMS)]
    both = [own("spmm_sum", "pyg", 5, direction="forward_backward")]
    other = [own("spmm_sum", name, 1, dataset="pubmed") for name in ("pyg", "dgl")]
    found = drawn([("spmm_sum forward cora", spmm), ("b", both), ("c", other)])
    assert [(name, picture.message) for name, picture in found] == [
        ("spmm_sum cora", "spmm_sum on cora"),
        ("spmm_sum pubmed", "spmm_sum on pubmed"),
    ]
    labels = [row["label"].removeprefix("spmm_sum ") for row in rows(found[0][1])]
    assert labels == ["fwd pyg", "fwd sparse", "fwd torch", "fwd dgl", "f+b pyg"]
    assert "cora · hidden 256 · float32 · int64 · cpu" in found[0][1].note


def test_own_benchmarks_have_their_estimate_drawn_with_its_interval_and_the_spread_of_block_medians():
    ((_, picture),) = drawn([("g", [own("spmm_sum", "pyg", 4, blocks=200)])])
    (row,) = rows(picture)
    measured = contents.ours("spmm_sum", "pyg", 4, blocks=200)["extra_info"]["gnnbench"]["measurement"]
    drew = [row[name] for name in ("time", "low", "high")]
    assert drew == pytest.approx([measured[f"{name}_ns"] / 1e6 for name in ("location", "low", "high")])
    assert row["least"] == pytest.approx(row["time"], rel=1e-3)
    assert row["most"] > row["high"]
    assert "Dot: the time in the table. Thick line: its 95% interval" in picture.note
    assert "time of a call, ms" in words(picture)
    ((_, picture),) = drawn([("g", [own("spmm_sum", "pyg", 4, blocks=4)])])
    assert rows(picture)[0]["low"] is None
    assert "too few measurements" in picture.note


def test_pytest_benchmarks_own_times_are_medians_and_quartiles_of_rounds():
    ((name, picture),) = drawn([(None, [theirs("t.py::test_a"), theirs("t.py::test_b", 2)])])
    assert (name, picture.message) == ("", "t.py")
    first, second = rows(picture)
    times = {"time": 2, "low": 1.5, "high": 3, "least": 1, "most": 4}
    assert {name: first[name] for name in times} == times
    assert (first["label"], first["text"]) == ("test_a", "2.00 ms")
    assert second["text"] == "4.00 ms"
    assert "median of the rounds" in picture.note


def test_a_saved_run_beside_this_one_is_named_and_drawn_by_the_same_statistic():
    now = own("spmm_sum", "pyg", 4)
    saved = {**now, "path": "/x/0001_abc.json", "source": "Linux/0001_abcdefghijk", "median": 3e-3}
    ((_, picture),) = drawn([("g", [saved, {**now, "source": "NOW"}])])
    assert [(row["label"], row["text"]) for row in rows(picture)] == [
        ("spmm_sum fwd pyg (0001_abcdefg)", "3.00 ms"),
        ("spmm_sum fwd pyg (NOW)", "4.00 ms"),
    ]
    assert "median of the rounds" in picture.note


@given(st.integers(1, 200), st.integers(1, 100))
def test_a_group_of_any_size_is_divided_evenly_among_its_pictures(count, letters):
    entries = [theirs(f"t.py::test_{'x' * letters}_{number}") for number in range(count)]
    sizes = [int(picture.text.split()[2]) for _, picture in drawn([("g", entries)])]
    assert sum(sizes) == count
    assert 0 < min(sizes) <= max(sizes) <= min(sizes) + 1
    assert max(sizes) <= SLIDE.most_rows


@pytest.mark.parametrize("factor", [0.0, 1000])
def test_times_that_differ_much_and_zero_are_drawn(factor):
    ((_, picture),) = drawn([("g", [theirs("t.py::test_a", factor), theirs("t.py::test_b", factor / 2)])])
    assert ("0.00 ns" in words(picture)) == (not factor)
