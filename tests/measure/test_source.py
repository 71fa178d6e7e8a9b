import ast

import pytest

from gnnbench.measure import source

TEXT = '''
"""A module."""
import pytest

A = B = 1
A += 2
C: int = 3

class Kind:
    """A class."""

    first = 1
    """The first."""
    second: int = 2

    def method(self):
        """Do nothing."""

@pytest.mark.slow
@other
def decorated():
    "One."
    async def inner():
        """Two."""
        return lambda: a.b.c, lambda: d
'''


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(TEXT)
    return str(path)


def test_finds_functions_by_their_first_line_and_classes_by_name(file):
    found = source.nodes(file)
    lines = TEXT.splitlines()
    assert set(found) == {
        ("Kind", None),
        ("method", lines.index("    def method(self):") + 1),
        ("decorated", lines.index("@pytest.mark.slow") + 1),
        ("inner", lines.index("    async def inner():") + 1),
        ("<lambda>", len(lines)),
    }
    assert [ast.unparse(node) for node in found["<lambda>", len(lines)]] == ["lambda: a.b.c", "lambda: d"]


def test_leaves_out_what_does_not_run(file):
    found = {name: ast.unparse(nodes[0]) for (name, _), nodes in source.nodes(file).items()}
    assert found["method"] == "def method(self):\n    pass"
    lines = [line.strip() for line in found["decorated"].splitlines() if line]
    assert lines[:3] == ["@other", "def decorated():", "async def inner():"]
    assert lines[3].startswith("return")
    assert found["Kind"].splitlines()[:4] == ["class Kind:", "    first = 1", "    second: int = 2", ""]


def test_names_what_a_class_defines_and_code_mentions(file):
    found = source.nodes(file)
    assert source.defined(found["Kind", None][0]) == {"first", "second", "method"}
    assert source.chains(found["<lambda>", len(TEXT.splitlines())]) == {"a", "a.b", "a.b.c", "d"}


@pytest.mark.parametrize(
    ("name", "expected"), [("A", "A = B = 1\nA += 2"), ("B", "A = B = 1"), ("C", "C: int = 3"), ("first", "")]
)
def test_finds_what_gives_a_global_its_value(file, name, expected):
    assert source.assigned(file, name) == expected


@pytest.mark.parametrize("text", [None, "def (", "\0", "'\udcff'"])
def test_a_file_that_cannot_be_read_has_nothing(tmp_path, text):
    path = tmp_path / "source.py"
    if text is not None:
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert source.nodes(str(path)) == {}
    assert source.assigned(str(path), "A") == ""
