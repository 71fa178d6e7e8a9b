from itertools import pairwise

import pytest

from gnnbench.report.charts.common import Rows
from gnnbench.report.style import PAGE, PHONE, SLIDE

LONG = "conv_cached f+b pyg · ogbn-arxiv · hidden 256 · float64"
NAMES = ["a", LONG, "b"]
VALUES = ["1.20x slower", "0.99x same", "1.00x undecided"]


def places(rows):
    """Return where the parts of each row are, and the lines of its name."""
    spec = rows.chart()
    (data,) = spec["datasets"].values()
    assert spec["height"] == rows.height
    return [{**one, "lines": one["name"].split("\n")} for one in data]


@pytest.mark.parametrize("style", [PAGE, SLIDE])
def test_names_and_values_are_beside_the_marks(style):
    rows = Rows(NAMES, VALUES, style)
    found = places(rows)
    for one in found:
        middle = one["name_y"] + (len(one["lines"]) - 1) * style.line_height / 2
        assert middle == one["value_y"] == one["y"] == pytest.approx((one["top"] + one["bottom"]) / 2)
        assert one["bottom"] - one["top"] >= len(one["lines"]) * style.line_height
    assert all(one["bottom"] == other["top"] for one, other in pairwise(found))
    assert style.whole / 4 < rows.width < style.whole - 15 * style.letter
    assert rows.y().to_dict()["axis"]["minExtent"] <= style.label_width + style.font_size


def test_on_a_phone_names_and_values_are_above_the_marks():
    rows = Rows(NAMES, VALUES, PHONE)
    assert rows.width == PHONE.whole
    end = 0
    for one in places(rows):
        assert one["name_y"] == one["value_y"] > end + PHONE.line_height / 2
        below = one["name_y"] + (len(one["lines"]) - 0.5) * PHONE.line_height
        assert one["top"] == pytest.approx(below)
        assert one["top"] < one["y"] < one["bottom"]
        assert max(map(len, one["lines"])) * PHONE.letter + 16 * PHONE.letter < PHONE.whole
        end = one["bottom"]
    assert end < rows.height


def test_a_name_is_whole():
    for style in (PAGE, PHONE, SLIDE):
        (_, found, _) = places(Rows(NAMES, VALUES, style))
        assert " ".join(found["lines"]).replace(" ·", "") == LONG.replace(" ·", "")


def test_few_rows_fill_the_least_height():
    assert Rows(["a"], [""], SLIDE).height == SLIDE.least_height
    assert Rows(["a"] * 60, [""] * 60, SLIDE).height == 60 * SLIDE.row
