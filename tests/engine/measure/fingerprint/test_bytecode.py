"""What stands for code, and for plain values."""

import enum
from pathlib import Path

import numpy as np
import pytest

from gnnbench.engine.measure.fingerprint import digest
from gnnbench.engine.measure.fingerprint.bytecode import code_hash, imports, nested


def code(body, parameters="a, b=0"):
    space = {}
    exec(f"def function({parameters}):\n" + "".join(f"    {line}\n" for line in body.splitlines()), space)
    return space["function"].__code__


def of_code(body, parameters="a, b=0"):
    return code_hash(code(body, parameters))


LONG = "\n".join(f"b += {number}" for number in range(300))
LONG_IF = "if a:\n" + LONG.replace("b", "    b")
OTHER = {
    "type of a constant": ("return a + 1", "return a + 1.0"),
    "true and one": ("return (True,)", "return (1,)"),
    "order of a tuple": ("return (1, 2)", "return (2, 1)"),
    "frozenset": ("return a in {1, 2}", "return a in {1, 3}"),
    "nested function": ("return lambda: 1", "return lambda: 2"),
    "global": ("return first", "return second"),
    "which local": ("x = a\ny = b\nreturn x", "x = a\ny = b\nreturn y"),
    "where a jump goes": ("if a:\n    b = 1\n    b = 2\nreturn b", "if a:\n    b = 1\nb = 2\nreturn b"),
    "a far jump": (f"{LONG_IF}\n    b = 2\nreturn b", f"{LONG_IF}\nb = 2\nreturn b"),
    "the 300th constant": (LONG, LONG.replace("299", "999")),
    "range of a try": (
        "try:\n    a()\n    b()\nexcept E:\n    pass",
        "try:\n    a()\nexcept E:\n    pass\nelse:\n    b()",
    ),
}


def test_a_docstring_that_is_a_constant_too_does_not_matter():
    """Nor what tests/engine/measure/fingerprint/test_fingerprint.py leaves out."""
    assert of_code("return 'x', 1") == of_code("'x'\nreturn 'x', 1")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("return a + b", "return (a +\n    b)"),
        ("try:\n    b = a(a, b)\nexcept E:\n    pass", "try:\n    b = a(a,\n    b)\nexcept E:\n    pass"),
        ("class A:\n    pass", "\nclass A:\n    pass"),
    ],
)
def test_lines_do_not_matter(first, second):
    """Since Python 3.13, bytecode depends on them."""
    assert of_code(first) == of_code(second)


@pytest.mark.parametrize(("first", "second"), OTHER.values(), ids=OTHER)
def test_what_matters(first, second):
    assert of_code(first) != of_code(second)


@pytest.mark.parametrize("parameters", ["b, a=0", "a, c=0", "a, *, b=0", "a, /, b=0", "a, *b", "a, **b"])
def test_parameters_matter(parameters):
    assert of_code("return a", parameters) != of_code("return a")


def test_functions_and_imports_in_functions():
    found = nested(code("def f():\n    return [lambda: 1, lambda: 2]\nreturn f"))
    assert [one.co_name for one in found] == ["function", "f", "<lambda>", "<lambda>"]
    found = imports(code("import a.b\nfrom .c import d\nfrom . import e"), "p.q")
    assert {"a.b", "p.q.c", "p.c", "p.q.e", "p.q.d"} <= found
    assert not imports(code("return a"), "")


Mode = enum.Enum("Mode", "FAST")
Size = type("Size", (int,), {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *((1, 2), (1, True), (1, 1.0), (0.0, -0.0), ("a", b"a"), ([1], (1,)), ({1: 2}, {2: 1}), ({1}, {2})),
        *((np.float32(1), np.float64(1)), (np.dtype("i4"), np.dtype("i8")), (np.add, np.multiply)),
        *((range(3), range(4)), (["a, b"], ["a", "b"])),
        *((Mode.FAST, 1), (Size(1), 1), (Size(1), Size(2))),
    ],
)
def test_different_values_differ(one, other):
    assert None not in {digest.plain(one), digest.plain(other)}
    assert digest.plain(one) != digest.plain(other)


def test_other_objects_have_no_text_and_folders_are_replaced(tmp_path, monkeypatch):
    assert digest.plain(object()) is digest.plain([1, object()]) is None
    monkeypatch.chdir(tmp_path)
    assert digest.plain(f"{tmp_path}/file") == "'<folder>/file'" == digest.plain(Path(tmp_path, "file"))
    assert digest.plain(f"{tmp_path}s/file") != "'<folder>s/file'"
