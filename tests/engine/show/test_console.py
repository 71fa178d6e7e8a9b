from gnnbench.engine.show.console import Terminal
from gnnbench.engine.show.document import Column, Heading, Table
from gnnbench.engine.show.lines import Note

HOSTILE = "a\x1b[2J\x1b]0;title\u202eb :rocket:"
SHOWN = "a?[2J?]0;title?b :rocket:"


def test_no_text_controls_the_terminal():
    table = Table(HOSTILE, [Column(HOSTILE), Column(HOSTILE, "text")], [(HOSTILE, HOSTILE)])
    found = Terminal(80).write([Heading(HOSTILE), table, Note(HOSTILE, HOSTILE)])
    assert found.count(SHOWN) == 8
    assert found.replace("\n", "").isprintable()
