# ruff: noqa: E501 - a source that is one line is read in one line

from dataclasses import asdict, replace

import pytest
import torch

from gnnbench import codec
from gnnbench.measure.clock import Call
from gnnbench.measure.fingerprint import digest, values
from gnnbench.measure.fingerprint.difference import Difference
from gnnbench.measure.fingerprint.fingerprint import Fingerprint, Watch
from gnnbench.measure.python_calls import python_calls

PAIRS = {
    "a constant of a nested function": "def run():\n    def inner():\n        return {}\n    return inner()\n",
    "a closure": "def make(n):\n    def run():\n        return n\n    return run\nrun = make({})\n",
    "an array in a closure": (
        "import numpy as np\ndef make(n):\n    numbers = np.arange(n)\n    def run():\n        return numbers.sum()\n"
        "    return run\nrun = make({})\n"
    ),
    "a closure that also holds a tensor": (
        "import torch\ndef make(t, n):\n    def run():\n        return len(t) * n\n    return run\n"
        "run = make(torch.ones(2), {})\n"
    ),
    "a default": "def inner(n={}):\n    return n\ndef run():\n    return inner()\n",
    "a keyword default": "def inner(*, n={}):\n    return n\ndef run():\n    return inner()\n",
    "a default of a lambda": "inner = lambda n={}: n\ndef run():\n    return inner()\n",
    "a default behind another name": (
        "def inner(n={}):\n    return n\nother = inner\ndel inner\ndef run():\n    return other()\n"
    ),
    "a cached function": (
        "import functools\n@functools.cache\ndef inner():\n    return {}\ndef run():\n    return inner()\n"
    ),
    "what a cached function calls": (
        "import functools\nclass A:\n    n = {}\ndef deeper():\n    return A.n\n"
        "@functools.cache\ndef inner():\n    return deeper()\ndef run():\n    return inner()\n"
    ),
    "a partial": "from functools import partial\ninner = partial(max, {})\ndef run():\n    return inner(1)\n",
    "a slot": (
        "class A:\n    __slots__ = ('n',)\n    def __init__(self):\n        self.n = {}\n"
        "a = A()\ndef run():\n    return a.n\n"
    ),
    "a property": (
        "class A:\n    m = {}\n    @property\n    def n(self):\n        return self.m\na = A()\ndef run():\n    return a.n\n"
    ),
    "an enum": "import enum\nclass E(enum.Enum):\n    A = {}\ndef run():\n    return E.A.value\n",
    "an attribute of a base class": (
        "class A:\n    n = {}\nclass B(A):\n    pass\nb = B()\ndef run():\n    return b.n\n"
    ),
    "a dictionary": "D = {{'a': {}}}\ndef run():\n    return D['a']\n",
    "a list": "L = [1, [{}]]\ndef run():\n    return L[1][0]\n",
    "a read-only dictionary": (
        "from types import MappingProxyType\nD = MappingProxyType({{'a': {}}})\ndef run():\n    return D['a']\n"
    ),
    "a queue": "from collections import deque\nD = deque([1, {}])\ndef run():\n    return D[1]\n",
    "a named tuple": (
        "from collections import namedtuple\nT = namedtuple('T', 'a b')\nt = T(*sorted([1, 2], key=lambda one: one * {}))\n"
        "def run():\n    return t.a\n"
    ),
    "a subclass of int": "class N(int):\n    pass\nn = N({})\ndef run():\n    return n + 1\n",
    "which object has which value": (
        "class A:\n    def __init__(self, n):\n        self.n = n\nL = [A(1), A(1), A(2)] if {} < 0 else [A(1), A(2), A(2)]\n"
        "def run():\n    return [one.n for one in L]\n"
    ),
    "a type": "T = {{-5: int, 5: float}}[{}]\ndef run():\n    return T(1)\n",
    "a NumPy type": "import numpy as np\nT = {{-5: np.float32, 5: np.float64}}[{}]\ndef run():\n    return T(1)\n",
    "a NumPy function": "import numpy as np\nF = {{-5: np.add, 5: np.multiply}}[{}]\ndef run():\n    return F(1, 2)\n",
    "an item getter": "import operator\nG = operator.itemgetter({})\ndef run():\n    return G(range(-9, 9))\n",
    "a NumPy array": "import numpy as np\nA = np.array([1, {}])\ndef run():\n    return A.sum()\n",
    "a global by its name": "N = {}\ndef run():\n    return globals()['N']\n",
    "an order in a table": (
        "def f():\n    return 1\ndef g():\n    return 2\nD = {{{}: f, 0: g}}\ndef run():\n    return [one() for one in D.values()]\n"
    ),
    "a function of an attribute": "def f():\n    return f.n\nf.n = {}\ndef run():\n    return f()\n",
}


@pytest.mark.parametrize("source", PAIRS.values(), ids=PAIRS)
def test_a_change_is_seen(source, taken):
    assert taken(source.format(-5)).same_code(taken(source.format(-5)))
    assert not taken(source.format(-5)).same_code(taken(source.format(5)))


@pytest.mark.parametrize(
    "source",
    [
        "import other\ndef run():\n    return other.N\n",
        "def run():\n    import other\n    return other.N\n",
        "def run():\n    from other import N\n    return N\n",
        "def run():\n    import other as o\n    return getattr(o, 'N')\n",
        "import other\nclass A:\n    def __init__(self):\n        self.m = other\na = A()\ndef run():\n    return a.m.N\n",
    ],
)
def test_values_of_other_modules(source, taken):
    assert taken(source, other="N = 1").same_code(taken(source, other="N = 1"))
    assert not taken(source, other="N = 1").same_code(taken(source, other="N = 2"))


def test_a_variable_that_is_read(taken, monkeypatch):
    source = "import os\ndef run():\n    return os.environ.get('MADE_FLAG')\n"
    before = taken(source)
    monkeypatch.setenv("OTHER_FLAG", "1")
    assert taken(source).same_code(before)
    monkeypatch.setenv("MADE_FLAG", "1")
    found = taken(source)
    assert found.set_to["$MADE_FLAG"] == digest.short("1"), "a hash: a variable may hold a secret"
    assert not found.same_code(before)


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


def test_a_view_of_an_input_does_not_hide_another(taken):
    source = "def run(row, col, x):\n    return x[row.unsqueeze(0)].sum() + x[col].sum()\n"
    pairs = [torch.tensor([[0, 1, 2], last]).unbind() for last in ([0, 1, 2], [2, 1, 0])]
    first, second = (taken(source, *pair, X, devices=["cpu"]) for pair in pairs)
    assert not first.same_code(second)


def test_a_tensor_that_no_operator_gets(taken):
    source = "def run(held):\n    return sum(held.index.tolist())\n"
    held = "class Held:\n    def __init__(self, index):\n        self.index = index\n"
    found = []
    for numbers in ([1, 2], [2, 1]):
        space = {}
        exec(held, space)
        found.append(taken(source, space["Held"](torch.tensor(numbers)), devices=["cpu"]))
    assert not found[0].same_code(found[1])


def test_sparse_inputs(taken):
    source = "import torch\ndef run(a, x):\n    return torch.sparse.mm(a, x)\n"
    dense = torch.eye(3)
    found = [
        taken(source, a, X, devices=["cpu"])
        for a in (dense.to_sparse(), dense.to_sparse_csr(), dense.flip(0).to_sparse())
    ]
    assert len({one.code for one in found}) == 3


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


CLOCK = (
    "import time\ndef make(now):\n    def run():\n        return {}\n    return run\n"
    "run = make(time.perf_counter_ns())\n"
)


def test_captured_values_are_told_from_code(taken):
    base, head, changed = map(taken, (CLOCK.format("now"), CLOCK.format("now"), CLOCK.format("now + 1")))
    assert base.functions != head.functions
    found = Difference.between(base, head)
    assert (found.functions, found.captured) == ((), ("made:make.<locals>.run",))
    found = Difference.between(base, changed)
    assert (found.functions, found.captured) == (("made:make.<locals>.run",), ())
    # Older fingerprints do not tell.
    found = Difference.between(replace(base, closures={}), head)
    assert (found.functions, found.captured) == (("made:make.<locals>.run",), ())


def test_json(taken):
    found = taken(CLOCK.format("now"))
    saved = codec.encode(found)
    assert asdict(codec.decode(saved, Fingerprint)) == asdict(found)
    for name in ("closures", "modules"):
        del saved[name]
    assert codec.decode(saved, Fingerprint) == found, "older files"
    with pytest.raises(ValueError, match="missing required field `code`"):
        codec.decode({}, Fingerprint)


def recorded(call, made):
    """Watch a call, make it twice, and return the watch and the last recording."""
    watch = Watch(call)
    for _ in range(2):
        with watch.recording() as recording:
            python_calls(made, recording.profile)
    return watch, recording


def test_more_objects_than_are_looked_at_leave_no_fingerprint(monkeypatch):
    class Node:
        size = 1

    monkeypatch.setattr(values, "_MOST", 5000)
    nodes = [Node() for _ in range(6000)]
    watch, _ = recorded(Call(lambda: [one.size for one in nodes], (), {}), lambda: nodes[0].size)
    assert watch.fingerprint() is None
    assert watch.unseen == "it may read too many objects"


def test_what_the_compiler_s_wrappers_call_does_not_count():
    """An import of torch._dynamo makes them call more, whatever the benchmark does."""
    scope = {"__name__": "torch._dynamo.eval_frame", "divmod": divmod}
    exec("def wrapped(function, extra):\n    extra and divmod(3, 2)\n    return function(2.0)\n", scope)

    def names(extra):
        call = Call(scope["wrapped"], (abs, extra), {})
        return set(recorded(call, call.__call__)[1].c_functions)

    assert ("builtins", "divmod") not in names(extra=True)
    assert names(extra=True) == names(extra=False)


def test_the_globals_of_the_compiler_s_guards_do_not_count():
    """Among them are names with random numbers."""

    def taken(name, number):
        scope = {"G": {f"__compiled_fn_{number}": number}}
        source = f"def {name}():\n    def guard(size):\n        return size in G\n    return guard\n"
        exec(source, scope)
        call = Call(scope[name](), (1,), {})
        return recorded(call, call.__call__)[0].fingerprint().values

    assert taken("___make_guard_fn", 1) == taken("___make_guard_fn", 2)
    assert taken("another", 1) != taken("another", 2)
