import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.show.document import Column, Heading, Table
from gnnbench.engine.show.lines import Note
from gnnbench.engine.show.markdown_text import Markdown, code, prose
from tests.gfm import hostile, render

TABLE = {"table", "thead", "tbody", "tr", "th", "td", "code", "p"}
_NOTHING_BUT_WORDS = re.compile(r"[A-Za-z0-9 \n.,;:!?()'\"%+-]*")


@given(hostile)
def test_a_name_is_one_piece_of_code_in_a_cell_and_elsewhere(name):
    for text, in_table in ((code(name), False), (f"| a |\n|---|\n| {code(name, in_table=True)} |", True)):
        page = render(text)
        assert len(page.codes) == 1
        assert set(page.tags) <= TABLE
        assert page.plain.strip() == ("a" if in_table else "")
        if in_table:
            assert [len(row) for row in page.rows] == [1, 1]


@given(st.lists(hostile, max_size=4).map(" the ".join))
def test_a_note_is_words_and_code(note):
    page = render(f"- {prose(note)}")
    assert set(page.tags) <= {"ul", "li", "p", "code"}
    assert page.tags["li"] == 1
    words = page.plain
    assert _NOTHING_BUT_WORDS.fullmatch(words)
    assert not re.search(r"[0-9a-fA-F]{7}\b", words)
    assert not re.search(r"[A-Za-z]-?\d", words)


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "S"), exclude_characters="|"), max_size=60))
def test_a_name_that_can_be_seen_is_shown_as_it_is(name):
    name = unicodedata.normalize("NFC", name)
    if any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in name):
        return
    if any(unicodedata.category(character).startswith("M") for character in name):
        return
    assert render(f"| a |\n|---|\n| {code(name, in_table=True)} |").codes[0].strip(" ") == name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("test_a.py::b[x|y]", "test_a.py::b[x|y]"),
        ("a\\|b", "a\\\\x7cb"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\ud800", "\\ud800"),
        ("`", "`"),
        ("a" * 500, f"{'a' * 100}…{'a' * 99}"),
    ],
)
def test_what_cannot_be_shown_is_spelled_out(name, shown):
    page = render(f"| a |\n|---|\n| {code(name, in_table=True)} |")
    assert page.codes == [shown]


@pytest.mark.parametrize(
    ("note", "text"),
    [
        ("the 99.75% interval (0.948 to 1.033) is too wide", None),
        ("counters: +4 aten::mm, -1 x", "counters: +4 `aten::mm`, -1 x"),
        ("see @someone, #1 and GH-1.", "see `@someone, #1` and `GH-1.`"),
        ("cut short by deadbeef at 1234567", "cut short by `deadbeef` at `1234567`"),
        ("relative error 5.3e-04: output[201, 25] is", "relative error `5.3e-04`: `output[201, 25]` is"),
        ("1. one", "`1.` one"),
        ("1) one (of 2); the other", "`1)` one (of 2); the other"),
        ("", ""),
    ],
)
def test_a_sentence_reads_as_it_was_written(note, text):
    assert prose(note) == (text or note)


@given(hostile, hostile)
def test_names_and_texts_in_a_document_s_table_are_text(name, text):
    table = Table(name, [Column("benchmark"), Column("changed", "text")], [(name, text), ("b", None)])
    page = render(Markdown().write([Heading(name), table, Note(text, name)]))
    assert set(page.tags) <= {*TABLE, "h4", "br", "ul", "li"}
    assert [len(row) for row in page.rows] == [2, 2, 2]
    assert not page.attributes
    assert not page.comments
