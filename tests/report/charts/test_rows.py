from gnnbench.report.charts.common import Rows
from gnnbench.report.style import PAGE, PHONE, SLIDE

LONG = "conv_cached f+b pyg · ogbn-arxiv · hidden 256 · float64"
NAMES = ["a", LONG, "b"]
VALUES = ["1.20x slower", "0.99x same", "1.00x undecided"]


def test_a_name_is_whole():
    for style in (PAGE, PHONE, SLIDE):
        ((_, found, _),) = Rows(NAMES, VALUES, style).chart()["datasets"].values()
        assert " ".join(found["name"].split("\n")).replace(" ·", "") == LONG.replace(" ·", "")


def test_few_rows_fill_the_least_height():
    assert Rows(["a"], [""], SLIDE).height == SLIDE.least_height
    assert Rows(["a"] * 60, [""] * 60, SLIDE).height == 60 * SLIDE.row
