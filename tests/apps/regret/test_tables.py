from dataclasses import replace

from gnnbench.apps.regret.tables import document
from gnnbench.engine.show.console import Terminal
from gnnbench.engine.show.document import Table
from gnnbench.engine.show.lines import Note
from gnnbench.engine.show.markdown_text import Markdown
from tests.apps.regret.results import CALL, OTHER, PLACE, SORTED, grid, line, point, regrets
from tests.gfm import render

HOSTILE = "a\x1b[2J\u202eb<script>|`\n" + "x" * 5000


def tables(found):
    return {block.heading: block for block in document(found) if isinstance(block, Table)}


def notes(found):
    return [block.text for block in document(found) if isinstance(block, Note)]


def rows(found, title):
    return next((table.rows for name, table in tables(found).items() if name.startswith(title)), [])


def test_each_call_has_a_row_with_its_worst_point_and_the_median_of_all():
    call, other = rows(regrets(*line(0.5, 2, 3), point(call=4.0, sorted_=1.0)), "time of the call")
    assert call[:4] == (CALL, "fwd", "2.50x", "4.00x")
    assert call[5:] == ("uniform:12 d2 w8", SORTED)
    low, high = map(float, call[4].split("-"))
    assert 3.5 < low < 4 < high < 4.5
    assert other[0] == OTHER


def test_calls_that_are_the_fastest_everywhere_have_no_row():
    assert [row[0] for row in rows(regrets(point()), "time of the call")] == [OTHER]
    assert tables(regrets()) == {}
    assert notes(regrets())[0].startswith("0 points, 0 decided: ")


def test_the_place_says_what_is_not_usual():
    for fields, shown in (
        ({"threads": 2, "dtype": "bfloat16"}, "uniform:12 d2 w8 bfloat16 2 threads"),
        ({"index_dtype": "int32", "dataset": "cora"}, "cora w8 int32"),
        ({"operation": "degree"}, "uniform:12 d2"),
        ({"operation": "gone"}, "uniform:12 d2 w8"),
    ):
        one = replace(point(call=2.0, sorted_=1.0), place=replace(PLACE, **fields))
        assert rows(regrets(one), "time of the call")[0][5] == shown


def test_crossovers_of_the_same_ways_are_one_row():
    found = regrets(*line(1 / 2, 2), *line(1 / 2, 2, kind="hub:12"))
    (row,) = rows(found, "crossovers")
    assert row == (CALL, SORTED, "fwd", "mean degree", 2, "2.83", row[6], "uniform:12 d2 w8")
    low, high = map(float, row[6].split("-"))
    assert 2 <= low < 2.83 < high <= 4
    assert rows(regrets(point()), "crossovers") == []


def test_ways_that_are_left_out_have_a_line_with_the_number_of_points():
    one, two = line(0.5, 2)
    left = {"a on b": "b is not installed"}
    found = regrets(replace(one, left_out=left), replace(two, left_out={**left, "c": "its output is wrong"}))
    assert notes(found)[-2:] == [
        "not timed at 2 points: a on b (b is not installed)",
        "not timed at 1 point: c (its output is wrong)",
    ]


def test_a_note_counts_the_points_at_which_the_fastest_way_is_known():
    assert notes(grid())[0].startswith("15 points, 14 decided: there all other ways")


def test_names_from_a_file_control_nothing():
    one = point(call=2.0, sorted_=1.0, left_out={HOSTILE: HOSTILE}, dataset=HOSTILE)
    ways = tuple(replace(way, name=f"{way.name}{HOSTILE}", takes=HOSTILE) for way in one.ways)
    ways = tuple(replace(way, fastest_same_structure=way.fastest_same_structure and HOSTILE) for way in ways)
    found = regrets(replace(one, ways=ways, fastest=ways[2].name, place=replace(one.place, dtype=HOSTILE)))
    for width in (None, 80):
        text = Terminal(width).write(document(found))
        assert not set(text) & set("\x1b\u202e")
    page = render(Markdown().write(document(found)))
    assert set(page.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "code", "br", "ul", "li", "p"}
