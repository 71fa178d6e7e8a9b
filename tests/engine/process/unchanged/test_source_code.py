"""What of a file runs when it is imported, and which functions differ."""

import pytest

from gnnbench.engine.process.unchanged.manifest import functions

FILE = '''"""A module."""
import math
N = 2
class A:
    """A class."""
    m = N
    def first(self, x):
        """A method."""
        return x + self.m
    @property
    def second(self):
        return self.m
def third(x, y=N, *, z=1):
    def inner():
        return math.pi
    return inner() + x
made = [third(one) for one in range(2)]
'''


def changed(before: str, after: str, file: str = FILE) -> set[str] | None:
    base, head = (functions("a.py", text.encode()) for text in (file, file.replace(before, after, 1)))
    names = {name for name in base.keys() | head.keys() if base.get(name) != head.get(name)}
    return None if "" in names else names


NOTHING: set[str] = set()
IMPORT = None


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ('"""A module."""', "", NOTHING),
        ("N = 2", "\nN = 2", NOTHING),
        ('    """A class."""\n', "    # a comment\n\n", NOTHING),
        ('"""A method."""', '"""Another text."""', NOTHING),
        ("return x + self.m", "return (x +\n            self.m)", NOTHING),
        ("return x + self.m", "return x - self.m", {"A.first"}),
        ("return self.m\n", "return self.m + 1\n", {"A.second"}),
        ("math.pi", "math.e", {"third", "third.<locals>.inner"}),
        ("N = 2", "N = 3", IMPORT),
        ("m = N", "m = N + 1", IMPORT),
        ("    @property\n", "", IMPORT),
        ("(self, x)", "(self, y)", IMPORT),
        ("y=N", "y=1", IMPORT),
        ("z=1", "z=2", IMPORT),
        ("def first", "def other", IMPORT),
        ("class A:", "class A(dict):", IMPORT),
        ("def third(", "def added():\n    pass\ndef third(", IMPORT),
        ("class A:", "class A:\n    )", IMPORT),
    ],
)
def test_a_changed_body_is_named_and_what_an_import_runs_is_not_divided(before, after, names):
    assert changed(before, after) == names


def test_functions_of_one_name_are_told_apart_by_their_order():
    assert changed("1\ng = lambda: 2", "2\ng = lambda: 1", "f = lambda: 1\ng = lambda: 2\n") == {"<lambda>"}


def test_a_docstring_may_precede_an_import_from_the_future():
    text = '"""One."""\nfrom __future__ import annotations\ndef run():\n    return 1\n'
    assert changed("One", "Two", text) == set()
    assert "run" in functions("a.py", text.encode())
