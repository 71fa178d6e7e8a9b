import pytest

from gnnbench.engine.ground.errors import UsageError, one_line, printable, unknown_name

KNOWN = ("pyg", "sparse", "torch", "dgl")


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("spars", KNOWN, ": did you mean sparse?"),
        ("PyG", KNOWN, ": did you mean pyg?"),
        ("tensorflow", KNOWN, "; known: dgl, pyg, sparse, torch"),
        ("zzz", map(str, range(10, 40)), f"; known: {', '.join(map(str, range(10, 30)))} and 10 more"),
        ("39a", map(str, range(10, 40)), ": did you mean 39?"),
        ("efect", ("effect", "affected", "bisect", "reject"), ": did you mean effect?"),
    ],
)
def test_unknown_name_names_the_nearest_or_all(name, known, hint):
    error = unknown_name("platform", name, known)
    assert isinstance(error, UsageError)
    assert str(error) == f"unknown platform '{name}'{hint}"


def test_a_message_is_one_line_and_details_are_lines_of_their_own():
    error = UsageError("a\x1b[31m\nfile: broken", "first\r", "sec\x9bond")
    assert str(error) == "a?[31m?file: broken\nfirst?\nsec?ond"
    assert one_line("a b\x1b]0;x\x07\n::error::c\u202e") == "a b?]0;x??::error::c?"


def test_a_text_keeps_its_lines_and_its_spaces():
    assert printable("a\tb\n\x1b[2Jc\x7f\ud800") == "a\tb\n?[2Jc??"
    assert printable("1.4\N{NO-BREAK SPACE}ms é 日 ±") == "1.4\N{NO-BREAK SPACE}ms é 日 ±"
