import importlib.util
import sys
from importlib import import_module
from pathlib import Path

import pytest

from gnnbench.engine.measure.code_hash import code_hash


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Make a module of a source, in a folder and under a name of its own."""
    counter = iter(range(100))

    def loaded(source, folder="here"):
        name = f"{tmp_path.name}_{next(counter)}"
        path = tmp_path / folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.fixture
def hashed(loaded, tmp_path):
    """Return the fingerprint of `run` in a source."""
    return lambda source: code_hash([loaded(source).run], [tmp_path / "here"])


PLAIN = """
import functools, math
from dataclasses import dataclass

WIDTH = 3
NAMES = ("a", b"b", None, 1.5)
TABLE = {"double": lambda x: x * 2}
NOTE = object()

@dataclass(frozen=True)
class Scale:
    factor: int = 2

    def __call__(self, x):
        return x * self.factor

class Base:
    offset = 1

class Shift(Base):
    def apply(self, x):
        return helper(x) + self.offset

    @staticmethod
    def twice(x):
        return x + x

    @property
    def half(self):
        return even(self.offset) / 2

def logged(f):
    @functools.wraps(f)
    def wrapper(*arguments):
        return f(*arguments)
    return wrapper

def helper(x):
    return x + WIDTH

def even(x):
    return x == 0 or odd(x - 1)

def odd(x):
    return x != 0 and even(x - 1)

def add(x, amount):
    return x + amount

add_five = functools.partial(add, amount=5)
scale = Scale(4)

@functools.cache
@logged
def cached(x):
    return x - 1

def unused():
    return 1

def run(x, start=WIDTH, *, then=helper):
    unrelated = [name for name in NAMES]
    def inner(y):
        return TABLE["double"](y)
    return math.sqrt(inner(add_five(x)) + Shift().apply(start) + cached(x) + scale(x)), NOTE
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def helper(x):", "def helper(x):\n    '''Say what it does.'''"),
        ("class Base:", "class Base:\n    'A base.'\n    # and more"),
        ("offset = 1", "offset = 1\n    'Of what.'"),
        ("return x + WIDTH", "return (x +\n        WIDTH)  # a comment"),
        ("def helper", "\n\n\n# moved\ndef helper"),
        ("    return 1\n", "    return 2\n"),
        ("def run(", "import pytest\n@pytest.mark.core\n@pytest.mark.skipif(False, reason='')\ndef run("),
        ("WIDTH = 3", "WIDTH = 1 + 2"),
    ],
    ids=["docstring", "class", "attribute", "formatting", "lines", "unused", "marks", "equal constant"],
)
def test_what_does_not_run_is_not_counted(hashed, before, after):
    assert before in PLAIN
    assert hashed(PLAIN) == hashed(PLAIN.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x + WIDTH", "x - WIDTH"),
        ("WIDTH = 3", "WIDTH = 4"),
        ("1.5", "2.5"),
        ("x * 2", "x * 3"),
        ("x * self.factor", "self.factor * x"),
        ("Scale(4)", "Scale(5)"),
        ("offset = 1", "offset = 2"),
        ("x + x", "2 * x"),
        ("self.offset) / 2", "self.offset) / 3"),
        ("x != 0 and", "x != 1 and"),
        ("return f(*arguments)", "return f(*arguments) + 0"),
        ("x + amount", "amount + x"),
        ("amount=5", "amount=6"),
        ("return x - 1", "return x - 2"),
        ("start=WIDTH", "start=4"),
        ("then=helper", "then=even"),
        ("math.sqrt", "math.exp"),
        ("NOTE = object()", "NOTE = list((1,)).__iter__()"),
        ("NOTE = object()", "NOTE: object = iter(())\nNOTE = [NOTE]"),
        ("@functools.cache", "@functools.lru_cache(maxsize=3)"),
    ],
)
def test_what_runs_is_counted(hashed, before, after):
    assert before in PLAIN
    assert hashed(PLAIN) != hashed(PLAIN.replace(before, after))


def test_a_function_of_elsewhere_counts_by_its_name(loaded, tmp_path):
    here = [tmp_path / "here"]
    hashes = []
    for body in ("return 1", "return 2"):
        library = loaded(f"def far():\n    {body}\nLIMIT = 3", folder="there")
        library.far.__module__ = "library"
        module = loaded("def run():\n    return far()")
        module.far = library.far
        hashes.append(code_hash([module.run, library.far, len], here))
    assert hashes[0] == hashes[1]
    module.far = print
    assert code_hash([module.run, library.far, len], here) != hashes[0]
    installed = loaded("def run():\n    return 1", folder="site-packages")
    assert code_hash([installed.run], [tmp_path]) != code_hash([installed.run], [tmp_path / "site-packages"])


@pytest.mark.parametrize("statement", ["import {} as m", "from {} import m", "from {} import value as m"])
def test_imports_inside_of_a_function_are_followed(tmp_path, monkeypatch, statement):
    hashes = []
    for number in "12":
        folder = tmp_path / number / "package"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(f"def value(): return {number}")
        (folder / "m.py").write_text(f"def value(): return {number}")
        (folder / "code.py").write_text(
            f"def run():\n    {statement.format('package')}\n    return m.value, m"
        )
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder.parent)
            for name in ("package", "package.m", "package.code"):
                patch.setitem(sys.modules, name, None)  # so that it is removed afterwards
                del sys.modules[name]
            hashes.append(code_hash([import_module("package.code").run], [folder]))
    assert hashes[0] != hashes[1]


def test_lambdas_of_one_line_stand_together_and_closures_tell_functions_apart(loaded, tmp_path):
    pairs = [loaded(f"PAIR = (lambda x: x + 1, lambda x: x + {number})").PAIR for number in (2, 2, 3)]
    hashes = [code_hash([pair[0]], [tmp_path]) for pair in pairs]
    assert hashes[0] == hashes[1] != hashes[2]
    module = loaded("def make(f, n):\n    def run(x):\n        return f(x) + n\n    return run")
    found = {code_hash([module.make(f, n)], [tmp_path]) for f, n in ((abs, 1), (abs, 2), (len, 1), (abs, 1))}
    assert len(found) == 3


def test_order_and_repetition_do_not_matter(loaded, tmp_path):
    module = loaded(PLAIN)
    functions = [module.run, module.helper, module.Shift().apply, module.add_five]
    expected = code_hash(functions, [tmp_path])
    assert code_hash([*reversed(functions), module.run], [tmp_path]) == expected
    assert code_hash(functions[1:], [tmp_path]) != expected
    assert len(expected) == 16
    assert int(expected, 16) >= 0


@pytest.mark.parametrize("text", [None, "# another file", "def (", "\0"])
def test_code_without_its_source_counts_by_its_bytecode(loaded, tmp_path, text):
    hashes = []
    for body in ("x + 1", "x + 1", "x + 2", "x - 1", "f(x)"):
        module = loaded(f"def run(x):\n    f = [lambda y: y]\n    return {body}")
        path = Path(module.__file__)
        path.unlink() if text is None else path.write_text(text)
        hashes.append(code_hash([module.run], [tmp_path]))
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 4


def test_cells_that_are_empty_and_cycles_through_values_end(loaded, tmp_path):
    module = loaded(
        "ALL = {}\ndef run():\n    return ALL, inner\nALL['run'] = [run, ALL, {run, print}]\n"
        "def make():\n    def early():\n        return late\n    yield early\n    late = 1\n"
        "inner = next(make())"
    )
    functions = [module.run, module.inner]
    assert code_hash(functions, [tmp_path]) == code_hash(functions[::-1], [tmp_path])
