"""A small package with a benchmark: one call runs or reads each part of it, and each of its numbers."""

import re
import shutil
import subprocess
import sysconfig
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from tempfile import mkdtemp

NAME = "generated"
Sources = dict[str, str]
"""Text of each file, by its path below the package's folder."""

_CONFIG = '''
"""Global values."""
from types import MappingProxyType
from enum import Enum
from typing import NamedTuple
import operator
import os

WIDTH = {n}
SCALES = {"first": {n}, "second": [{n}, {n}]}
FROZEN = MappingProxyType({"limit": {n}})
BY_CHAIN = {n}
IMPORTED_INSIDE = {n}
BY_TEXT = {n}
SECOND = operator.itemgetter(1)
DEBUG = "GENERATED_DEBUG"

class Sizes(NamedTuple):
    """A tuple with names."""

    first: int
    second: int

class Mode(Enum):
    FAST = {n}
    SLOW = 2

SIZES = Sizes({n}, {n})
MODE = Mode.FAST

def debug():
    """Read the environment."""
    return len(os.environ.get(DEBUG, ""))
'''

_HELPERS = '''
"""Helpers: decorated, cached, closed over."""
import math
import functools
from functools import partial, wraps

def logged(function):
    """Count calls."""

    @wraps(function)
    def wrapper(*arguments, step={n}, **named):
        total = len(arguments) + step
        return function(*arguments, **named) + total

    return wrapper

@logged
def shifted(value, by={n}, *, times={n}):
    first = value + by
    second = first * times
    return first + second

def scaler(factor, offset):
    def scaled(value):
        found = value * factor
        return found + offset

    return scaled

scaled = scaler({n}, {n})
halved = lambda value, parts={n}: value // parts
ROUNDED = partial(round, ndigits={n})

def deeper(value):
    return value + {n}

@functools.cache
def table(size):
    """Make a table once in a process."""
    start = deeper(size)
    return sum((start, {n}))

class Slotted:
    """Has no dictionary."""

    __slots__ = ("low", "high")

    def __init__(self):
        self.low = {n}
        self.high = {n}

    @property
    def width(self):
        return self.high - self.low + {n}

SLOTTED = Slotted()

def folded(value):
    from .config import IMPORTED_INSIDE
    from . import config

    inside = getattr(config, "BY_TEXT") + IMPORTED_INSIDE
    return math.floor(ROUNDED(value + inside + SLOTTED.width + table({n})))
'''

_LAYERS = '''
"""Classes with bases, and a module of torch."""
import torch
from . import config
from .helpers import folded, halved, scaled, shifted
from .template import GENERATED

class Base:
    factor = {n}
    bounds = ({n}, {n})

    def apply(self, value):
        lower, upper = self.bounds
        result = value + self.factor
        return result * 2 + lower - upper

    @classmethod
    def both(cls, value):
        return value + cls.factor

class Middle(Base):
    """Inherits."""

    extra = {n}

    def __init__(self, depth, power={n}):
        self.depth = depth
        self.power = power
        self.kept = {n}

    def apply(self, value):
        found = super().apply(value) + self.extra
        return found + self.depth + self.power + self.kept

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * {n}

    @staticmethod
    def backward(context, gradient):
        grown = gradient * {n}
        return grown

class Net(torch.nn.Module):
    slope = 0.{n}

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 5)
        self.rate = {n}
        self.steps = [Middle({n}), Middle({n}), Middle({n})]

    def forward(self, x, index):
        """Run the network."""
        gathered = x.index_select(0, index[0])
        spread = torch.zeros_like(x).index_add_(0, index[1], gathered)
        hidden = torch.nn.functional.leaky_relu(self.linear(spread), self.slope)
        number = self.rate + config.BY_CHAIN
        for step in self.steps:
            number = step.apply(number)
            number += step.both(number)
        number = shifted(number) + scaled(number) + halved(number) + folded(number)
        number += config.WIDTH + config.SCALES["first"] + config.SCALES["second"][1] + config.debug()
        number += config.FROZEN["limit"] + config.SIZES.first + config.MODE.value + config.SECOND((1, 2, 3))
        if number < 0:
            number = -number
        return Doubled.apply(hidden) * GENERATED(number % 7 + 1)
'''

_TEMPLATE = '''
"""Generates code, writes it to a file and imports it, as PyG does."""
import importlib.util
import os
import tempfile
import uuid

TEMPLATE = """
def generated(value):
    low = value + {n}
    high = low * {n}
    return low + high
"""

def render():
    name = "generated_" + uuid.uuid4().hex[:6]
    handle, path = tempfile.mkstemp(prefix=name, suffix=".py")
    with os.fdopen(handle, "w") as file:
        file.write(TEMPLATE)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    os.unlink(path)
    return module.generated

GENERATED = render()
'''

_BENCH = '''
"""The benchmark."""
import sys
import torch
from . import layers
from . import config

def inputs():
    index = torch.tensor([[0, 1, 2, 3, 4, 0, 2], [1, 2, 3, 4, 0, 3, 1]])
    x = torch.arange(30.0).reshape(5, 6)
    plan = [4, 5, [6, 7]]
    return x, index, plan

def run(net, x, index, plan):
    out = net(x, index)
    loss = out.sum() + len(plan)
    try:
        from . import native
        loss = loss + native.add(plan[0])
    except ImportError:
        pass
    loss.backward()
    return loss

def call():
    torch.manual_seed(0)
    return run, (layers.Net(), *inputs())
'''

_TEXTS = {
    "__init__.py": '"""A generated package."""\nimport math\nimport sys\n',
    "config.py": _CONFIG,
    "helpers.py": _HELPERS,
    "layers.py": _LAYERS,
    "template.py": _TEMPLATE,
    "bench.py": _BENCH,
}

_NATIVE = """
#include <Python.h>
long linked(long);
static PyObject *add(PyObject *self, PyObject *value) {
    return PyLong_FromLong(linked(PyLong_AsLong(value)) + OWN);
}
static PyMethodDef methods[] = {{"add", add, METH_O, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "native", "", -1, methods};
PyMODINIT_FUNC PyInit_native(void) { return PyModule_Create(&module); }
"""
_LINKED = "long linked(long value) { return value + OWN; }"


def sources(changed: int | None = None) -> Sources:
    """Return the package's files.

    Args:
        changed: which of all numbers is another one than in the unchanged package.
    """
    rng, places = Random(0), count()

    def number(_: re.Match[str]) -> str:
        return str(rng.randrange(3, 90) + (next(places) == changed))

    return {file: re.sub(r"\{n\}", number, text.lstrip()) for file, text in _TEXTS.items()}


NUMBERS = sum(text.count("{n}") for text in _TEXTS.values())


def write(files: Sources, folder: Path, own: int = 1, linked: int = 1) -> None:
    """Write the package into a folder, with a native library and another one that this links to.

    Args:
        files: texts by path.
        folder: becomes the parent of the package's folder.
        own: which version of the native library.
        linked: which version of the other one.
    """
    package = folder / NAME
    package.mkdir(parents=True)
    for file, text in files.items():
        (package / file).write_text(text)
    if shutil.which("cc"):
        # Links: another copy would be hashed anew.
        (package / "native.so").symlink_to(_built(own, linked) / "native.so")
        (folder / "libgenerated_linked.so").symlink_to(_built(own, linked) / "libgenerated_linked.so")


@cache
def _built(own: int, linked: int) -> Path:
    folder = Path(mkdtemp())
    for name, text in (("native.c", _NATIVE), ("linked.c", _LINKED)):
        (folder / name).write_text(text)
    links = [f"-I{sysconfig.get_paths()['include']}", "-L.", "-lgenerated_linked", "-Wl,-rpath,$ORIGIN/.."]
    for words in (
        ["libgenerated_linked.so", f"-DOWN={linked}", "linked.c"],
        ["native.so", f"-DOWN={own}", "native.c", *links],
    ):
        subprocess.run(["cc", "-shared", "-fPIC", "-O0", "-o", *words], cwd=folder, check=True)
    return folder
