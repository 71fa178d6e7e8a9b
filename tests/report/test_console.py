import pytest

from gnnbench.engine.show.console import Terminal
from gnnbench.engine.show.document import Column, Heading, Table
from gnnbench.engine.show.lines import Note

HOSTILE = "a\x1b[2J\x1b]0;title\u202eb :rocket:"
LINE = "a line that is too long for a narrow terminal"
SHOWN = "a?[2J?]0;title?b :rocket:"


def test_no_text_controls_the_terminal():
    table = Table(HOSTILE, [Column(HOSTILE), Column(HOSTILE, "text")], [(HOSTILE, HOSTILE)])
    found = Terminal(80).write([Heading(HOSTILE), table, Note(HOSTILE, HOSTILE)])
    assert found.count(SHOWN) == 8
    assert found.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("width", "last"), [(None, [LINE]), (30, ["a line that is too long for a", "  narrow terminal"])]
)
def test_tables_and_lines_stay_in_order_and_long_lines_are_broken(width, last):
    table = Table("heading", [Column(""), Column("")], [("left", "right")])
    found = Terminal(width).write([Heading("first"), table, Note(""), Note(LINE)])
    blank, first, gap, heading, row, *rest = found.splitlines()
    assert (blank, first, gap, heading, row.split()) == ("", "first", "", "heading", ["left", "right"])
    assert rest == ["", *last]
