import json
import re
from itertools import takewhile
from xml.etree import ElementTree as ET

import pytest

from gnnbench.codec import decode
from gnnbench.profile.record import ProfileRecord
from gnnbench.report import breakdown, drawing
from gnnbench.report.breakdown import Bar, Breakdown, BreakdownPart
from gnnbench.report.charts import phases
from gnnbench.report.style import PAGE, SLIDE
from tests.report import contents

# Name, depth and time without inner ranges, in hundredths of a second.
CONV = (
    ("forward", 1, 1.0),
    ("GCNConv", 2, 1.0),
    ("gcn_norm", 3, 2.5),
    ("fill_diag", 4, 1.0),
    ("x·W", 3, 30.0),
    ("propagate", 3, 1.5),
    ("message", 4, 2.5),
    ("aggregate", 4, 2.5),
    ("backward", 1, 57.5),
)


def bar(parts=CONV, rest=0.5, label="pyg"):
    made = []
    for place, (name, depth, own) in enumerate(parts):
        inside = takewhile(lambda one, depth=depth: one[1] > depth, parts[place + 1 :])
        made.append(BreakdownPart(name, (own + sum(one[2] for one in inside)) / 100, own / 100, depth))
    return Bar(label, (sum(own for *_, own in parts) + rest) / 100, tuple(made), rest / 100)


def test_long_ranges_are_divided_and_short_ones_are_whole():
    (found,) = phases.stacks([bar()])
    expected = {"gcn_norm": 3.5, "x·W": 30.0, "propagate": 6.5, "backward": 57.5, "the rest": 2.5}
    assert {name: round(100 * seconds, 9) for name, seconds in found.items()} == expected


def test_what_a_divided_range_does_itself_has_its_name():
    parts = (("forward", 1, 40.0), ("x·W", 2, 30.0), ("relu", 2, 29.5))
    assert phases.stacks([bar(parts)]) == [
        pytest.approx({"forward": 0.4, "x·W": 0.3, "relu": 0.295, "the rest": 0.005})
    ]


def test_a_range_that_takes_long_in_one_bar_is_named_in_all():
    quick = bar([(name, depth, 0.1 if name == "x·W" else own) for name, depth, own in CONV], label="dgl")
    _, found = phases.stacks([bar(), quick])
    assert found["x·W"] == pytest.approx(0.001)


def test_no_more_ranges_are_named_than_there_are_colours():
    many = [(f"range {number}", 1, 10.0 + number) for number in range(12)]
    (found,) = phases.stacks([bar(many)])
    assert list(found) == [*(f"range {number}" for number in range(5, 12)), "the rest"]
    assert sum(found.values()) == pytest.approx(bar(many).seconds)


def test_without_ranges_all_is_the_rest():
    assert phases.stacks([bar((), rest=5.0), bar((), rest=0.0)]) == [{"the rest": 0.05}, {"the rest": 0.0}]


@pytest.mark.parametrize("style", [PAGE, SLIDE])
def test_labels_name_each_part_and_the_sum_once(style):
    found = Breakdown("conv f+b", "layers", (bar(), bar(label="sparse")))
    text = " ".join(ET.fromstring(drawing.svg(phases.chart(found, style))).itertext())
    for label in ("x·W 300 ms", "propagate 65.0 ms", "backward 575 ms", "the rest 25.0 ms"):
        assert text.count(label) == 2
    assert "pyg · 1.00 s" in text
    assert "sparse · 1.00 s" in text


def test_a_name_has_one_colour_in_all_bars_and_no_other_name_has_it():
    bars = [bar(), bar(CONV[4:], label="dgl"), bar(CONV[:5], label="torch")]
    spec = json.dumps(phases.chart(Breakdown("conv", "layers", tuple(bars)), SLIDE))
    (scale,) = {one for one in re.findall(r'"scale": (\{[^{}]*\})', spec) if '"range"' in one}
    scale = json.loads(scale)
    assert len(set(scale["range"])) == len(scale["domain"]) == len(set(scale["domain"]))


def test_labels_do_not_overlap():
    places = phases.apart([0.1, 0.2, 0.3, 9.9, 10.0], 1.0, 10.0)
    assert places == pytest.approx([0.5, 1.5, 2.5, 8.5, 9.5])
    assert phases.apart([5.0], 1.0, 10.0) == [5.0]


def test_a_long_name_is_cut_and_its_time_is_not():
    long = bar([("message_and_aggregate" * 3, 1, 10.0)])
    text = " ".join(
        ET.fromstring(drawing.svg(phases.chart(Breakdown("", "", (long,) * 5), SLIDE))).itertext()
    )
    assert text.count("100 ms") >= 5
    assert "message_and_aggregatem" not in text


def test_bars_of_a_page_go_below_each_other_if_they_are_too_wide():
    profiles = [decode(contents.profile(name), ProfileRecord) for name in contents.PLATFORMS]
    found = breakdown.of(profiles)[0]
    width = float(ET.fromstring(drawing.svg(phases.chart(found, PAGE))).get("width"))
    assert width < PAGE.width + PAGE.label_width
