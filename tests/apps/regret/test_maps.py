import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from gnnbench.apps.regret.maps import COLOURS, LETTERS, chart, pictures, write
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.show.charts import SLIDE, svg
from tests.apps.regret.results import CALL, OTHER, PLACE, SORTED, grid, line, point, regrets
from tests.run_files import ENVIRONMENT
from tests.svg import LEGIBLE, smallest, text

HOSTILE = "a\x1b[2J\u202e</svg><script>alert(1)</script>\ud800" + "x" * 1000
PNG = b"\x89PNG\r\n\x1a\n"


def cells(*rows):
    """Cells of a map: kind, degree, width, way and regret; the ways are known."""
    names = ("kind", "degree", "hidden", "way", "regret")
    return [dict(zip(names, row, strict=True)) | {"is_decided": True} for row in rows]


def found_in(spec, name):
    """Return all values of a key anywhere in a chart."""
    if isinstance(spec, dict):
        inside = [one for value in spec.values() for one in found_in(value, name)]
        return [*([spec[name]] if name in spec else []), *inside]
    return [one for value in spec for one in found_in(value, name)] if isinstance(spec, list) else []


def data(spec):
    """Return the rows of all parts."""
    return [row for rows in spec["datasets"].values() for row in rows]


def test_a_slide_of_each_call_is_written(tmp_path):
    files = write(grid(), tmp_path / "new" / "maps")
    assert sorted(files) == sorted((tmp_path / "new/maps").iterdir())
    assert {path.stem for path in files} == {
        f"scatter-max-on-{platform}-{direction}"
        for platform in ("pyg", "torch")
        for direction in ("forward", "forward-and-backward")
    }
    assert {path.suffix for path in files} == {".svg", ".png"}
    for path in files:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(PNG)
    path = tmp_path / "new/maps/scatter-max-on-pyg-forward.svg"
    shown = text(path)
    assert "the fastest way's time (median of the points), and at least 3.86x at the worst point" in shown
    for word in (f"A {SORTED}", f"B {CALL}", "hub:12, mean degree", "uniform:12, mean", "width", "A 2.5x"):
        assert word in re.sub(r"\s+", " ", shown), word


def test_letters_can_be_read_in_the_default_grid(tmp_path):
    points = [
        one
        for kind in ("uniform:10", "rmat:10", "hub:10")
        for hidden in (8, 32, 64, 128)
        for one in line(0.5, 0.9, 2.5, 9, 14, kind=kind, others={"hidden": hidden})
    ]
    assert all(smallest(path) >= LEGIBLE for path in write(regrets(*points), tmp_path)[::2])


def test_what_differs_has_a_map_of_its_own():
    """Else one tile would lie on another."""
    some = line(0.5, 2)
    others = [
        replace(one, place=replace(one.place, **changes))
        for one in some
        for changes in ({"threads": 2}, {"dtype": "float64"})
    ]
    larger = line(0.5, 2, kind="uniform:14")
    names = {name for name, _ in pictures(regrets(*some, *others, *larger))}
    assert names == {
        f"scatter-max-on-{platform}-forward-{what}"
        for platform in ("pyg", "torch")
        for what in (
            "2-12-nodes-float32-1-thread",
            "2-12-nodes-float32-2-threads",
            "2-12-nodes-float64-1-thread",
            "2-14-nodes-float32-1-thread",
        )
    }


def test_only_random_graphs_are_on_maps(tmp_path):
    for dataset in ("cora", "a.mtx", "molecules:10", "cora:synthetic@0.1", HOSTILE):
        found = regrets(replace(point(), place=replace(PLACE, dataset=dataset)))
        assert write(found, tmp_path / "maps") == []
    with pytest.raises(UsageError, match="from 4 to 30"):
        write(regrets(point("rmat:99")), tmp_path)


def test_letter_and_colour_are_the_way_and_intensity_is_the_regret():
    spec = chart(
        cells(
            ("rmat:12", "2", "8", "sort", 1.0),
            ("rmat:12", "16", "8", "sort", 2.0),
            ("rmat:12", "4", "128", "scatter", 4.0),
            ("rmat:12", "4", "8", "scatter", 400.0),
            ("hub:12", "2", "8", "sort", 0.9),
        ),
        ["sort", "scatter"],
        SLIDE,
    )
    shown = data(spec)
    assert [(row["text"], row["legend"]) for row in shown] == [
        ("A\n1.0x", "A  sort"),
        ("A\n2.0x", "A  sort"),
        ("B\n4.0x", "B  scatter"),
        ("B\n400x", "B  scatter"),
        ("A\n0.9x", "A  sort"),
    ]
    pale, half, full, more, least = (row["opacity"] for row in shown)
    assert pale == least < half < full == more < 1
    for scale in (one["scale"] for one in found_in(spec, "color") if isinstance(one, dict)):
        assert (scale["domain"], scale["range"]) == (["A  sort", "B  scatter"], [*COLOURS[:2]])
    assert ["2", "4", "16"] in found_in(spec, "sort")
    assert ["128", "8"] in found_in(spec, "domain"), "the widest is on top"
    assert ET.fromstring(svg(spec)).tag.endswith("svg")


def test_of_more_than_eight_ways_the_rarest_have_no_cell():
    ways = [f"way {number}" for number in range(10)]
    spec = chart(cells(*(("rmat:12", str(n + 1), "8", way, 2.0) for n, way in enumerate(ways))), ways, SLIDE)
    assert [row["way"] for row in data(spec)] == ways[: len(LETTERS)]
    assert len(LETTERS) == len(COLOURS) == 8


def test_names_from_a_file_are_text(tmp_path):
    points = []
    for one in line(2, 2):
        ways = tuple(replace(way, name=f"{way.name}{HOSTILE}") for way in one.ways)
        points.append(replace(one, ways=ways, fastest=ways[2].name))
    here = replace(ENVIRONMENT, cpu=HOSTILE, libraries=(("a", HOSTILE),), commit=HOSTILE)
    files = write(regrets(*points, environment=here), tmp_path)
    assert len(files) == 2 * len({CALL, OTHER})
    for path in files:
        if path.suffix == ".svg":
            content = path.read_text()
            assert "<script" not in content
            assert not set(content) & set("\x1b\u202e\ud800")
            assert ET.fromstring(content).tag.endswith("svg")
