import importlib.util
import sys
from functools import partial

import pytest

from gnnbench.engine.measure.definition import definition_hash


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
    """Return the hash of `run` in a source."""
    return lambda source: definition_hash([loaded(source).run], [tmp_path / "here"])


PLAIN = """
import functools, math

WIDTH = 3
TABLE = {"double": lambda x: x * 2}
NOTE = object()

class Base:
    offset = 1

class Shift(Base):
    def apply(self, x):
        return helper(x) + self.offset

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

@functools.cache
@logged
def cached(x):
    return x - 1

def unused():
    return 1

def run(x, start=WIDTH, *, then=even):
    def inner(y):
        return TABLE["double"](y)
    return math.sqrt(inner(x) + Shift().apply(start) + cached(x)), NOTE
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def helper(x):", "def helper(x):\n    '''Say what it does.'''"),
        ("class Base:", "class Base:\n    'A base.'\n    # and more"),
        ("return x + WIDTH", "return (x +\n        WIDTH)  # a comment"),
        ("    return 1\n", "    return 2\n"),
        ("def run(", "import pytest\n@pytest.mark.core\n@pytest.mark.skipif(False, reason='')\ndef run("),
    ],
    ids=["docstring", "class", "formatting", "unused", "marks"],
)
def test_what_does_not_run_is_not_counted(hashed, before, after):
    assert before in PLAIN
    assert hashed(PLAIN) == hashed(PLAIN.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x + WIDTH", "x - WIDTH"),
        ("WIDTH = 3", "WIDTH = 4"),
        ("x * 2", "x * 3"),
        ("offset = 1", "offset = 2"),
        ("return f(*arguments)", "return f(*arguments) + 0"),
        ("then=even", "then=odd"),
        ("math.sqrt", "math.exp"),
        ("NOTE = object()", "NOTE: object = iter(())\nNOTE = [NOTE]"),
        ("@functools.cache", "@functools.lru_cache(maxsize=3)"),
        ("import functools, math", "import cmath as math, functools"),
    ],
)
def test_what_runs_is_counted(hashed, before, after):
    assert before in PLAIN
    assert hashed(PLAIN) != hashed(PLAIN.replace(before, after))


def test_a_function_of_elsewhere_counts_by_its_name(loaded, tmp_path):
    far = [loaded(f"def far():\n    return {number}", folder="there").far for number in (1, 2)]
    for one in far:
        one.__module__ = "library"
    hashes = [definition_hash([one, len, partial(one, 3)], [tmp_path / "here"]) for one in far]
    assert hashes[0] == hashes[1] != definition_hash([far[0], print, partial(far[0], 3)], [tmp_path / "here"])
    assert hashes[0] != definition_hash([far[0], len, partial(far[0], 4)], [tmp_path / "here"])
    installed = loaded("def run():\n    return 1", folder="site-packages")
    folders = tmp_path, tmp_path / "site-packages"
    assert len({definition_hash([installed.run], [folder]) for folder in folders}) == 2


def test_lambdas_of_one_line_stand_together_and_closures_tell_functions_apart(loaded, tmp_path):
    pairs = [loaded(f"PAIR = (lambda x: x + 1, lambda x: x + {number})").PAIR for number in (2, 2, 3)]
    hashes = [definition_hash([pair[0]], [tmp_path]) for pair in pairs]
    assert hashes[0] == hashes[1] != hashes[2]
    module = loaded("def make(f, n):\n    def run(x):\n        return f(x) + n\n    return run")
    made = [module.make(f, n) for f, n in ((abs, 1), (abs, 2), (len, 1), (abs, 1))]
    assert len({definition_hash([run], [tmp_path]) for run in made}) == 3


def test_cells_that_are_empty_and_cycles_through_values_end(loaded, tmp_path):
    module = loaded(
        "ALL = {}\ndef run():\n    return ALL, inner, run\nALL['run'] = [run, ALL]\n"
        "def make():\n    def early():\n        return late\n    yield early\n    late = 1\n"
        "inner = next(make())"
    )
    functions = [module.run, module.inner]
    assert definition_hash(functions, [tmp_path]) == definition_hash(functions[::-1], [tmp_path])
