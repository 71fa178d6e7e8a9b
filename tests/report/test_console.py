import io

import pytest
import rich.table
from rich.text import Text

from gnnbench.engine.show.console import Console, Terminal
from gnnbench.engine.show.document import Column, Heading, Table
from gnnbench.engine.show.lines import Note

HOSTILE = "a\x1b[2J\x1b]0;title\u202eb :rocket:"
LINE = "a line that is too long for a narrow terminal"
SHOWN = "a?[2J?]0;title?b :rocket:"


def shown(*what, **options):
    text = io.StringIO()
    Console(file=text, width=80, **options).print(*what, markup=False)
    return text.getvalue()


def test_no_text_controls_the_terminal():
    assert shown(HOSTILE) == shown(Text(HOSTILE)) == f"{SHOWN}\n"
    table = rich.table.Table(box=None, pad_edge=False)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    assert shown(table) == f"{SHOWN}\n{SHOWN}\n"


@pytest.mark.parametrize(
    ("width", "last"), [(None, [LINE]), (30, ["a line that is too long for a", "  narrow terminal"])]
)
def test_tables_and_lines_stay_in_order_and_long_lines_are_broken(width, last):
    table = Table("heading", [Column(""), Column("")], [("left", "right")])
    found = Terminal(width).write([Heading("first"), table, Note(""), Note(LINE)])
    blank, first, gap, heading, row, *rest = found.splitlines()
    assert (blank, first, gap, heading, row.split()) == ("", "first", "", "heading", ["left", "right"])
    assert rest == ["", *last]
