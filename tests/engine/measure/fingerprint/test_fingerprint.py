# ruff: noqa: E501 - a source that is one line is read in one line
"""What may change the speed of a call changes its fingerprint, and nothing else does."""

import ast
import decimal
import gc
import json
import os
import re
import sys
import tracemalloc
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from gnnbench.engine.ground import codec
from gnnbench.engine.measure.clock import Call
from gnnbench.engine.measure.fingerprint import digest
from gnnbench.engine.measure.fingerprint.difference import Difference
from gnnbench.engine.measure.fingerprint.fingerprint import Fingerprint, Recordings
from gnnbench.engine.measure.fingerprint.recording import python_calls
from gnnbench.engine.measure.inspection import inspect
from tests import forks
from tests.runs import ROOT, environment


@pytest.fixture
def taken(tmp_path, monkeypatch):
    """Return the fingerprint of `run` in a source, in a folder of its own with other modules."""
    count = iter(range(100))

    def taken(source, *args, devices=(), **others):
        folder = tmp_path / f"checkout{next(count)}"
        folder.mkdir()
        monkeypatch.syspath_prepend(str(folder))
        for name, text in {**others, "made": source}.items():
            (folder / f"{name}.py").write_text(text)
            monkeypatch.setitem(sys.modules, name, None)  # so that it is removed afterwards
            del sys.modules[name]
        found = inspect(Call(import_module("made").run, args, {}), devices)
        assert found.unseen is None
        return found.fingerprint

    return taken


PAIRS = {
    "a closure": "def make(n):\n    def run():\n        return n\n    return run\nrun = make({})\n",
    "an array in a closure": "import numpy as np\ndef make(n):\n    numbers = np.arange(n)\n    def run():\n        return numbers.sum()\n    return run\nrun = make({})\n",
    "a closure that also holds a tensor": "import torch\ndef make(t, n):\n    def run():\n        return len(t) * n\n    return run\nrun = make(torch.ones(2), {})\n",
    "a default": "def inner(n={}):\n    return n\ndef run():\n    return inner()\n",
    "a keyword default": "def inner(*, n={}):\n    return n\ndef run():\n    return inner()\n",
    "a default behind another name": "def inner(n={}):\n    return n\nother = inner\ndel inner\ndef run():\n    return other()\n",
    "a decorated function": "import functools\ndef logged(f):\n    @functools.wraps(f)\n    def wrapper(*a):\n        return f(*a)\n    return wrapper\n@logged\ndef inner(n={}):\n    return n\ndef run():\n    return inner()\n",
    "what a cached function calls": "import functools\nclass A:\n    n = {}\ndef deeper():\n    return A.n\n@functools.cache\ndef inner():\n    return deeper()\ndef run():\n    return inner()\n",
    "a partial": "from functools import partial\ninner = partial(max, {})\ndef run():\n    return inner(1)\n",
    "a slot": "class A:\n    __slots__ = ('n',)\n    def __init__(self):\n        self.n = {}\na = A()\ndef run():\n    return a.n\n",
    "a property": "class A:\n    m = {}\n    @property\n    def n(self):\n        return self.m\na = A()\ndef run():\n    return a.n\n",
    "an attribute of a base class": "class A:\n    n = {}\nclass B(A):\n    pass\nb = B()\ndef run():\n    return b.n\n",
    "an enum": "import enum\nclass E(enum.Enum):\n    A = {}\ndef run():\n    return E.A.value\n",
    "a read-only dictionary": "from types import MappingProxyType\nD = MappingProxyType({{'a': {}}})\ndef run():\n    return D['a']\n",
    "a queue": "from collections import deque\nD = deque([1, {}])\ndef run():\n    return D[1]\n",
    "a named tuple": "from collections import namedtuple\nT = namedtuple('T', 'a b')\nt = T(*sorted([1, 2], key=lambda one: one * {}))\ndef run():\n    return t.a\n",
    "which object has which value": "class A:\n    def __init__(self, n):\n        self.n = n\nL = [A(1), A(1), A(2)] if {} < 0 else [A(1), A(2), A(2)]\ndef run():\n    return [one.n for one in L]\n",
    "a type": "T = {{-5: int, 5: float}}[{}]\ndef run():\n    return T(1)\n",
    "an item getter": "import operator\nG = operator.itemgetter({})\ndef run():\n    return G(range(-9, 9))\n",
    "a NumPy array": "import numpy as np\nA = np.array([1, {}])\ndef run():\n    return A.sum()\n",
    "a global by its name": "N = {}\ndef run():\n    return globals()['N']\n",
    "an order in a table": "def f():\n    return 1\ndef g():\n    return 2\nD = {{{}: f, 0: g}}\ndef run():\n    return [one() for one in D.values()]\n",
    "a function of an attribute": "def f():\n    return f.n\nf.n = {}\ndef run():\n    return f()\n",
    "bytes": "B = [bytearray(str({}), 'ascii')]\ndef run():\n    return B[0][0]\n",
    "a long pattern": "import re\nP = re.compile('a' * 300 + str({}))\ndef run():\n    return P.match('a')\n",
    "a method of a pattern": "import re\nm = re.compile(str({})).match\ndef run():\n    return m('a')\n",
    "a default dictionary": "from collections import defaultdict\nD = defaultdict(list, a={})\ndef run():\n    return D['a']\n",
    "a context variable": "from contextvars import ContextVar\nC = ContextVar('c')\nC.set({})\ndef run():\n    return C.get()\n",
    "a default of a method that a function made": "def make(n):\n    def f(self, k=n):\n        return k\n    return f\nclass A:\n    f = make({})\na = A()\ndef run():\n    return a.f()\n",
    "a default of a bound method": "def make(n):\n    def f(self, k=n):\n        return k\n    return f\nclass A:\n    f = make({})\nrun = A().f\n",
    "an attribute of a metaclass": "class M(type):\n    n = {}\nclass A(metaclass=M):\n    pass\na = A()\ndef run():\n    return type(a).n\n",
    "a name with underscores": "__n__ = {}\ndef run():\n    return __n__\n",
    "an attribute with underscores": "class A:\n    __n__ = {}\na = A()\ndef run():\n    return a.__n__\n",
    "what is deep inside": "class A:\n    n = {}\nL = [[[[[[[[[[A()]]]]]]]]]]\ndef run():\n    one = L\n    while isinstance(one, list):\n        one = one[0]\n    return one.n\n",
    "what a generator holds": "def make(n):\n    while True:\n        yield n\ng = make({})\ndef run():\n    return next(g)\n",
    "an enum's partial": "import enum\nfrom functools import partial\nclass E(enum.Enum):\n    A = enum.member(partial(max, {}))\ndef run():\n    return E.A.value(1)\n",
    "an attribute of an enum's member": "import enum\nclass E(enum.Enum):\n    A = 1\n    def __init__(self, _):\n        self.n = {}\ndef run():\n    return E.A.n\n",
    "an attribute of a string": "class S(str):\n    pass\ns = S('a')\ns.n = {}\ndef run():\n    return s.n\n",
    "a default of a property": "class A:\n    n = property(lambda self, n={}: n)\na = A()\ndef run():\n    return a.n\n",
    "a default of a named tuple": "from typing import NamedTuple\nclass T(NamedTuple):\n    n: int = {}\ndef run():\n    return T().n\n",
    "what is behind a weak reference": "import weakref\nclass A:\n    n = {}\na = A()\na.n = A.n\nr = weakref.ref(a)\ndel A.n\ndef run():\n    return r().n\n",
    "a format": "import struct\nS = struct.Struct(str(10 + {}) + 'i')\ndef run():\n    return S.size\n",
    "an array of objects": "import numpy as np\nclass A:\n    pass\na = A()\na.n = {}\nO = np.array([a, a], dtype=object)\ndef run():\n    return O[1].n\n",
    "a record array": "import numpy as np\nR = np.rec.array([(1, None)] * (9 + {}))\ndef run():\n    return len(R)\n",
    "a name in a tuple of tuples": "class A:\n    n = {}\na = A()\ndef run():\n    return [getattr(a, *pair) for pair in (('n', 1), ('m', 2))]\n",
    "a name with a dot": "import operator\nclass A:\n    n = {}\nclass B:\n    a = A()\nb = B()\ndef run():\n    return operator.attrgetter('a.n')(b)\n",
    "what torch.jit.script compiled": "import torch\n@torch.jit.script\ndef f(x):\n    return x + ({})\nrun = lambda: f(torch.ones(1))\n",
    "a scripted module without forward": "import torch\nL = torch.nn.ModuleList([torch.nn.ReLU()] * (9 + {}))\nS = torch.jit.script(torch.nn.Sequential(*L))\nL = torch.jit.script(L)\nrun = lambda: [S(torch.ones(1)), len(L)]\n",
    "generated code whose file is gone": (
        "import importlib.util, pathlib, tempfile\ndef render():\n    path = pathlib.Path(tempfile.mkstemp(suffix='.py')[1])\n"
        "    path.write_text('def made():\\n    return {}\\n')\n    spec = importlib.util.spec_from_file_location('of_' + path.stem, path)\n"
        "    module = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(module)\n    path.unlink()\n    return module.made\n"
        "made = render()\ndef run():\n    return made()\n"
    ),
}


@pytest.mark.parametrize("source", PAIRS.values(), ids=PAIRS)
def test_a_change_is_seen(source, taken):
    assert taken(source.format(-5)).same_code(taken(source.format(-5)))
    assert not taken(source.format(-5)).same_code(taken(source.format(5)))


MADE = '''
import functools
import math
SCALE = 3
class Base:
    """A base."""
    factor = 2
    def apply(self, value):
        result = value + self.factor
        return result * SCALE
class Middle(Base):
    extra = 1
    def __init__(self, depth=4):
        self.depth = depth
    def apply(self, value):
        return super().apply(value) + self.extra + self.depth
def scaled(value, by=7):
    return math.floor(value * by)
@functools.cache
def table(names):
    return len({"one", "two", *names}), "one" in {"one", "two", "three", "four"}
def run():
    return Middle().apply(1) + scaled(2) + table(("three",))[0]
'''


@pytest.mark.parametrize(
    "patch",
    [
        "Base.apply = lambda self, value: value + 1",
        "scaled.__code__ = (lambda value, by: value).__code__",
        "math.floor = int",
        *(
            f"class Injected(Middle):\n    {body}\nMiddle = Injected"
            for body in (
                "def apply(self, value):\n        return super().apply(value)",
                "apply = Base.apply",
                "extra = property(lambda self: 5)",
                "def __init__(self, depth=9):\n        self.depth = depth",
                "def __getattribute__(self, name):\n        return super().__getattribute__(name)",
            )
        ),
    ],
)
def test_a_patch_is_seen(patch, taken, monkeypatch):
    monkeypatch.setattr("math.floor", __import__("math").floor)  # which is restored
    assert not taken(MADE).same_code(taken(f"{MADE}\n{patch}\n"))


def with_other_docstrings(text):
    tree = ast.parse(text.replace('"""A base."""', "'''Another.'''"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body.insert(0, ast.parse("'Added.'").body[0])
    return ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize(
    "change",
    [
        with_other_docstrings,
        lambda text: (
            "\n" * 300 + text.replace("\n", "  # a comment\n").replace("= value +", "= \\\n    value +")
        ),
        lambda text: re.sub(r"^( +)", r"\1\1", text, flags=re.MULTILINE),
        lambda text: text.replace("result", "other"),
        lambda text: f"from __future__ import annotations{text}",
        lambda text: text.replace("import functools\nimport math", "import math, functools, json as unused"),
        lambda text: text + "class Unused:\n    factor = 3\ndef unused(by=3):\n    return by\nUNUSED = 5\n",
    ],
    ids=["docstrings", "lines", "indentation", "locals", "future", "imports", "unused"],
)
def test_what_does_not_run_is_not_seen(change, taken):
    assert change(MADE) != MADE
    assert taken(MADE).same_code(taken(change(MADE)))


def test_neither_the_folder_nor_the_hash_seed_matters(taken, tmp_path):
    """In a fork of a process with a hash seed of its own."""
    (tmp_path / "made.py").write_text(MADE)
    (tmp_path / "script.py").write_text(
        "import json, made\nfrom gnnbench.engine.ground import codec\nfrom gnnbench.engine.measure.clock import Call\n"
        "from gnnbench.engine.measure.inspection import inspect\n"
        "print(json.dumps(codec.encode(inspect(Call(made.run, (), {}), ()).fingerprint)))"
    )
    done = forks.run([str(tmp_path / "script.py")], ROOT, environment())
    assert done.returncode == 0, done.stderr
    assert codec.decode(json.loads(done.stdout), Fingerprint).code == taken(MADE).code


@pytest.mark.parametrize(
    "source",
    [
        "import other\ndef run():\n    return other.N\n",
        "import other, sys\ndef run():\n    return sys.modules['other'].N\n",
        "import importlib\ndef run():\n    return importlib.import_module('other').N\n",
        "def run():\n    import other\n    return other.N\n",
        "def run():\n    from other import N\n    return N\n",
        "import other\nclass A:\n    def __init__(self):\n        self.m = other\na = A()\ndef run():\n    return a.m.N\n",
    ],
)
def test_values_of_other_modules(source, taken):
    assert taken(source, other="N = 1").same_code(taken(source, other="N = 1"))
    assert not taken(source, other="N = 1").same_code(taken(source, other="N = 2"))


def test_a_partial_s_c_function_has_its_package_s_libraries(taken):
    found = taken("from functools import partial\nimport msgspec\nrun = partial(msgspec.json.encode, 1)\n")
    assert any(name.startswith("_core.") for name in found.libraries)


def test_variables_that_are_read_and_those_of_native_libraries(taken, monkeypatch):
    source = "import os\ndef run():\n    return os.environ.get('MADE_FLAG')\n"
    before = taken(source)
    monkeypatch.setenv("OTHER_FLAG", "1")
    assert taken(source).same_code(before)
    for name in ("MADE_FLAG", "OMP_DYNAMIC", "MALLOC_ARENA_MAX", "ONEDNN_MAX_CPU_ISA", "KMP_AFFINITY"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            found = taken(source)
        assert found.set_to[f"${name}"] == digest.short("1"), "a hash: a variable may hold a secret"
        assert not found.same_code(before)


def set_callbacks(callbacks):
    gc.callbacks[:] = callbacks


@pytest.mark.parametrize(
    ("setter", "value", "usual"),
    [
        (torch.set_num_threads, torch.get_num_threads() + 1, torch.get_num_threads()),
        (torch.set_default_dtype, torch.float64, torch.float32),
        (torch.set_float32_matmul_precision, "high", "highest"),
        (torch.use_deterministic_algorithms, True, False),
        (torch.set_flush_denormal, True, False),
        (torch.autograd.set_detect_anomaly, True, False),
        (torch.backends.mkldnn.set_flags, False, True),
        (torch.backends.cuda.enable_flash_sdp, False, True),
        (lambda is_on: torch.set_autocast_enabled("cpu", is_on), True, False),
        (lambda kind: setattr(torch.backends.mkldnn.matmul, "fp32_precision", kind), "bf16", "none"),
        (gc.set_threshold, 10, gc.get_threshold()[0]),
        (set_callbacks, [len], []),
        (sys.setswitchinterval, 0.1, sys.getswitchinterval()),
        (sys.setrecursionlimit, 5000, sys.getrecursionlimit()),
        (sys.set_coroutine_origin_tracking_depth, 9, 0),
        (np.setbufsize, 64, np.getbufsize()),
        (lambda action: np.seterr(all=action), "ignore", "warn"),
        (
            lambda cores: os.sched_setaffinity(0, cores),
            {min(os.sched_getaffinity(0))},
            os.sched_getaffinity(0),
        ),
        (lambda number: setattr(decimal.getcontext(), "prec", number), 50, 28),
        (lambda is_on: tracemalloc.start() if is_on else tracemalloc.stop(), True, False),
    ],
)
def test_settings(setter, value, usual, taken):
    before = taken(MADE)
    setter(value)
    try:
        found = taken(MADE)
    finally:
        setter(usual)
    assert not found.same_code(before)
    assert found.code == before.code


RUN = "import torch\ndef run(index, x):\n    return x.index_select(0, index)\n"
INDEX, X = torch.tensor([0, 2, 1]), torch.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    ("index", "x", "same"),
    [
        (INDEX.clone(), X + 1, True),
        (INDEX.sort().values, X, False),
        (INDEX.int(), X, False),
        (INDEX, X.double(), False),
        (INDEX, X.t().contiguous().t(), False),
        (INDEX, X.clone().requires_grad_(), False),
        (INDEX, torch.arange(13.0)[1:].reshape(3, 4), False),
    ],
    ids=["other numbers", "sorted", "int32", "float64", "strides", "gradient", "offset"],
)
def test_inputs(index, x, same, taken):
    assert taken(RUN, index, x, devices=["cpu"]).same_code(taken(RUN, INDEX, X, devices=["cpu"])) is same


def test_a_large_value_that_many_objects_share_is_described_once(taken, monkeypatch):
    described = []
    monkeypatch.setattr(digest, "of_bytes", lambda content: described.append(len(content)) or "")
    source = "class A:\n    def __init__(self):\n        self.n = N\nN = {}\nL = [A() for _ in range(99)]\ndef run():\n    return L[0].n\n"
    for value in ("list(range(2000))", "bytes(2000)"):
        described.clear()
        taken(source.format(value))
        assert len(described) <= 4


def test_plain_inputs(taken):
    source, plan = "def run(plan):\n    return len(plan)\n", [4, 5, [6, 7]]
    assert taken(source, plan).same_code(taken(source, [4, 5, [6, 7]]))
    for other in ([5, 4, [6, 7]], [4, 5.0, [6, 7]], [4, 5, (6, 7)], [*plan, 8]):
        assert not taken(source, plan).same_code(taken(source, other))


def test_a_view_of_an_input_does_not_hide_another(taken):
    source = "def run(row, col, x):\n    return x[row.unsqueeze(0)].sum() + x[col].sum()\n"
    pairs = [torch.tensor([[0, 1, 2], last]).unbind() for last in ([0, 1, 2], [2, 1, 0])]
    first, second = (taken(source, *pair, X, devices=["cpu"]) for pair in pairs)
    assert not first.same_code(second)


def test_a_tensor_that_no_operator_gets(taken):
    source = "def run(held):\n    return sum(held.index.tolist())\n"
    pair = [SimpleNamespace(index=torch.tensor(numbers)) for numbers in ([1, 2], [2, 1])]
    first, second = (taken(source, held, devices=["cpu"]) for held in pair)
    assert not first.same_code(second)


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nX = torch.ones(3)\ndef run():\n    return X[1:]\n",
        "import torch\ndef make(x):\n    return lambda: x[1:]\nrun = make(torch.ones(3))\n",
        "import torch\ndef make(x):\n    return lambda: x[0][1:]\nrun = make([torch.ones(3)])\n",
        "import torch\ndef add(x):\n    return x + 1\ndef run(x=torch.ones(3)):\n    return add(x)\n",
    ],
    ids=["a global", "a closure", "a list", "a default"],
)
def test_operators_of_tensors_that_are_no_arguments_are_torch_s(source, taken):
    assert any(name.startswith("libtorch_cpu") for name in taken(source).libraries)


def test_sparse_inputs(taken):
    source = "import torch\ndef run(a, x):\n    return torch.sparse.mm(a, x)\n"
    dense = torch.eye(3)
    inputs = (dense.to_sparse(), dense.to_sparse_csr(), dense.flip(0).to_sparse())
    assert len({taken(source, one, X, devices=["cpu"]).code for one in inputs}) == 3


def test_a_backward_pass_of_its_own(taken):
    source = (
        "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n    def forward(c, x):\n        return x * 1\n"
        "    @staticmethod\n    def backward(c, g):\n        return g + len([1] * {})\n"
        "def run(x):\n    F.apply(x.requires_grad_()).sum().backward()\n"
    )
    found = [taken(source.format(n), X.clone(), devices=["cpu"]) for n in (1, 1, 2)]
    assert "made:F.backward" in found[0].functions
    assert found[0].same_code(found[1])
    assert not found[0].same_code(found[2])


CLOCK = "import time\ndef make(now):\n    def run():\n        return {}\n    return run\nrun = make(time.perf_counter_ns())\n"


def test_captured_values_are_told_from_code(taken):
    base, head, changed = map(taken, (CLOCK.format("now"), CLOCK.format("now"), CLOCK.format("now + 1")))
    assert Difference.between(base, head).functions == ()
    assert "made.make.<locals>.run captures" in Difference.between(base, head).values
    assert Difference.between(base, changed).functions == ("made:make.<locals>.run",)


def recorded(call, made):
    recordings = Recordings(call)
    for _ in range(2):
        with recordings.record() as recording:
            python_calls(made, recording.profile)
    return recordings, recording


def test_what_the_compiler_s_wrappers_call_does_not_count():
    """An import of torch._dynamo makes them call more, whatever the benchmark does."""
    scope = {"__name__": "torch._dynamo.eval_frame", "divmod": divmod}
    exec("def wrapped(function, extra):\n    extra and divmod(3, 2)\n    return function(2.0)\n", scope)

    def names(extra):
        call = Call(scope["wrapped"], (abs, extra), {})
        return set(recorded(call, call.__call__)[1].c_functions)

    assert ("builtins", "divmod") not in names(extra=True)
    assert names(extra=True) == names(extra=False)


def test_names_of_compiled_functions_do_not_count(taken):
    source = "__compiled_fn_3_{0} = [len, sorted]\ndef run():\n    return __compiled_fn_3_{0}[0](())\n"
    assert taken(source.format("1f_2a")).same_code(taken(source.format("3b_4c")))


def test_the_globals_of_the_compiler_s_guards_do_not_count():
    """Among them are names with random numbers."""

    def taken(name, number):
        scope = {"G": {f"__compiled_fn_{number}": number}}
        exec(f"def {name}():\n    def guard(size):\n        return size in G\n    return guard\n", scope)
        call = Call(scope[name](), (1,), {})
        return recorded(call, call.__call__)[0].fingerprint().values

    assert taken("___make_guard_fn", 1) == taken("___make_guard_fn", 2)
    assert taken("another", 1) != taken("another", 2)


IMPORTS = "import sys\ndef run():\n    sys.modules.pop('other', None)\n    import other\n    return other.N\n"


def test_an_import_runs_the_module(taken):
    """Not Python's import, nor pytest's finders and gnnbench's, but those of other packages."""
    found = taken(IMPORTS, other="def f():\n    return 1\nN = f()")
    assert {"made:run", "other:<module>", "other:f"} <= found.functions.keys()
    assert not [name for name in found.values if name.startswith(("_pytest.", "importlib."))]
    assert found.same_code(taken(IMPORTS, other="def f():\n    return 1\nN = f()"))
    for other in ("def f():\n    return 2\nN = f()", "def f():\n    return 1\nN = f() + f()"):
        assert not found.same_code(taken(IMPORTS, other=other))


def test_what_a_module_does_for_a_missing_attribute_is_seen(taken):
    source = "def run():\n    from other import missing\n    return missing\n"
    found = [taken(source, other=f"def __getattr__(name):\n    return name * {n}") for n in (1, 1, 2)]
    assert found[0].same_code(found[1])
    assert not found[0].same_code(found[2])
    assert found[0].functions.keys() == {"made:run", "other:__getattr__"}


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio\nL = asyncio.new_event_loop()\ndef run():\n    return L.is_running()\n",
        "import multiprocessing\nA, B = multiprocessing.Pipe()\ndef run():\n    A.send(1)\n    return B.recv()\n",
    ],
)
def test_the_numbers_of_open_files_do_not_matter(source, taken, tmp_path):
    before = taken(source)
    with (tmp_path / "file").open("w"):
        assert taken(source).same_code(before)


def test_what_measures_is_not_recorded_and_an_operation_of_the_suite_is(taken):
    source = (
        "import torch\nfrom gnnbench.engine.ground.parts import tensors\nfrom gnnbench.suite.definitions import sums\n"
        "def run(index, x):\n    list(tensors(x))\n    return sums(index, x[:, 0].double(), 3)\n"
    )
    names = taken(source, INDEX, X, devices=["cpu"]).functions
    assert "gnnbench.suite.definitions:sums" in names
    assert not [name for name in names if name.startswith("gnnbench.engine.measure.")]


def test_nested_tensors(taken):
    source = (
        "import torch\ndef run(a, b):\n    return torch.nested.nested_tensor([a, b], layout=torch.{}) * 2\n"
    )
    parts = [torch.ones(2, 3), torch.ones(4, 3)]
    lists = parts, parts, parts[::-1]
    found = [
        taken(source.format(layout), *given, devices=["cpu"])
        for layout in ("strided", "jagged")
        for given in lists
    ]
    assert len({one.code for one in found}) == 4
    source = "def run(x):\n    return x * 2\n"
    for layout in (torch.strided, torch.jagged):
        inputs = [torch.nested.nested_tensor(given, layout=layout) for given in lists]
        first, same, other = (taken(source, one, devices=["cpu"]) for one in inputs)
        assert first.same_code(same)
        assert not first.same_code(other)
