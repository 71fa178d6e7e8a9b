import json
import re
import struct
from xml.etree import ElementTree as ET

import pytest

from gnnbench.engine.ground import packages
from tests import svg
from tests.engine.show import contents
from tests.run_files import content, save, suite


@pytest.fixture
def page(tmp_path):
    return tmp_path / "page.html"


def of_same_code(content, start):
    """Return a result of `gnnbench compare` whose rows from this place on run the same code."""
    same = {"judgement": {"verdict": "same", "reason": "runs the same code", "same_code": True}}
    rows = content["comparison"]["rows"]
    return content | {"comparison": {"rows": [*rows[:start], *(row | same for row in rows[start:])]}}


def test_what_runs_the_same_code_is_counted_on_a_line_and_has_no_row(tmp_path, page, call):
    head, *base = save(tmp_path, suite(9, factor=1.5), *map(suite, range(5)))
    file = tmp_path / "compare.json"
    assert call("compare", *base, "--json", file, "--", head)[0] == 1
    found = json.loads(file.read_text())
    slides = tmp_path / "slides"
    file.write_text(json.dumps(of_same_code(found, 1)))
    status, out, _ = call("report", file, "-o", page, "--slides", slides)
    assert (status, out.splitlines()[0]) == (0, "1 of 6 benchmarks is slower: b0 is 1.48x slower")
    text = page.read_text()
    assert text.count("<tr id=") == 1
    assert '<li class="same">5 run the same code</li>' in text
    assert "Forest plot of 1 ratio." in text
    (slide,) = slides.glob("*.svg")
    assert "5 run the same code." in svg.text(slide)

    file.write_text(json.dumps(of_same_code(found, 0)))
    status, out, _ = call("report", file, "-o", page, "--slides", slides)
    assert (status, len(out.splitlines())) == (0, 2), "no slide"
    assert not {"<table", "<svg"} & set(re.findall("<[a-z]+", page.read_text()))


def test_saved_verdicts_are_shown_as_they_were_reached(tmp_path, page, call):
    found = contents.family(1, operations=1)
    rows = [contents.row(one["fullname"], "same", ratio=1.06) for one in found["benchmarks"]]
    levels = {"effect": 0.1, "family_level": 0.9975}
    found["gnnbench"]["compared"] = contents.compared(*rows, thresholds=levels)
    (run,) = save(tmp_path, found)
    status, out, _ = call("report", run, "-o", page)
    assert (status, out.splitlines()[0]) == (0, "No slowdown found in 4 benchmarks; 4 same within 10%")
    for words in (
        "99.75% simultaneous intervals",
        "interval: simultaneous 99.75% interval",
        "grey band: changes below 10%",
        "the change is at least 10%",
    ):
        assert words in page.read_text()


def test_what_cannot_be_written_or_drawn_is_said(tmp_path, page, call):
    empty, run = save(tmp_path, content(), contents.judged())
    for place in (run / "page.html", "/proc/page.html"):
        status, _, err = call("report", empty, "-o", place)
        assert status == 2
        assert "page.html cannot be written (" in err
    for file, slides, message in (
        (run, run, f"the folder {run} cannot be written ("),
        (empty, tmp_path / "slides", "has no times to draw"),
    ):
        status, _, err = call("report", file, "-o", page, "--slides", slides)
        assert status == 2
        assert message in err.splitlines()[-1]
    with packages.hidden("altair", "vl_convert"):
        status, _, err = call("report", run)
    assert (status, err.count("\n")) == (2, 1)
    assert "altair and vl_convert are not installed: pip install 'gnnbench[report]'" in err


@pytest.mark.nightly
def test_a_slide_is_svg_and_png_of_one_size(tmp_path, page, call):
    (run,) = save(tmp_path, contents.judged())
    slides = tmp_path / "slides"
    status, out, _ = call("report", run, "-o", page, "--slides", slides)
    assert status == 0
    files = sorted(slides.iterdir())
    assert [str(file) for file in files] == sorted(out.splitlines()[2:])
    assert {file.stem for file in files} == {run.stem}
    for file in files:
        if file.suffix == ".png":
            assert struct.unpack(">II", file.read_bytes()[16:24]) == (1920, 1080)
        else:
            root = ET.parse(file).getroot()
            assert (root.get("width"), root.get("height")) == ("1280", "720")
            assert svg.smallest(file) >= svg.LEGIBLE
            assert "A CPU · threads 2 · Linux 6 · Python 3.11.7 · torch 2.13.0" in svg.text(file)
            assert "op0 fwd pyg is 1.49x slower" in svg.text(file)


@pytest.mark.parametrize("operations", [20, pytest.param(500, marks=pytest.mark.nightly)])
def test_a_large_run_stays_below_three_megabytes(tmp_path, page, call, operations):
    (run,) = save(tmp_path, contents.family(1, operations=operations, blocks=25))
    assert call("report", run, "-o", page)[0] == 0
    assert page.stat().st_size < 1e6 + 4000 * operations
    assert page.read_text().count("<tr id=") == 4 * operations
