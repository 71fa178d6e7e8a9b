"""What happens once: the import of a library, in a fresh interpreter, and the first call of a new layer."""

import sys
from functools import partial
from typing import Any

from ..annotations import Case, Graph, Tensor
from ..libraries import torch
from ..limits import HALF, avoids
from ..operation import FORWARD, Call, Kernel, operation
from ..platforms import COMPARED, PLATFORMS, load
from . import conv

_USUAL = {"float64": "float32", HALF: "float32", "int32": "int64", "cuda": "the CPU"}
_LIMITS = tuple(
    avoids(f"what happens once hardly depends on types and device: timed with {usual}", other)
    for other, usual in _USUAL.items()
)

_IMPORT = "import {module}; print({module}.__file__)\n"


def _in_a_fresh_interpreter(code: str, *arguments: str) -> str:
    """Run code as a user's script would; DGL is imported in the way of this process."""
    from .. import interpreter
    from ..libraries import STAND_IN, uses_stand_in

    empty = (STAND_IN,) if "import dgl" in code and uses_stand_in() else ()
    return interpreter.run(code, *arguments, absent=("outdated",), empty=empty)


def _import(platform: str) -> Kernel:
    load(platform)
    module = PLATFORMS[platform].packages[-1]

    def build(case: Case) -> Tensor:
        return torch.ones(1, dtype=torch.int64, device=case.device)

    def result(file: str, found: Tensor) -> Tensor:
        return found * (file == f"{sys.modules[module].__file__}\n")

    return Kernel(build, lambda _: _in_a_fresh_interpreter(_IMPORT.format(module=module)), result)


def imported(_graph: Graph) -> Tensor:
    """Return 1: the other interpreter has imported the file that this one has."""
    return torch.ones(1, dtype=torch.int64)


def _new_layer(platform: str) -> Kernel:
    module = load(platform)
    kernel = module.convolution(cached=False)

    def run(structure: Any, weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
        found: Tensor = kernel.run(structure, module.layer(weight, bias, cached=False), x)
        return found

    return Kernel(kernel.build, run)


def _call(text: str, platform: str, kernel: Any) -> Call:
    return Call(text, make=partial(kernel, platform), limits=_LIMITS)


_operation = partial(operation, default=False, directions=(FORWARD,), group="first calls")

OPERATIONS = (
    _operation(
        "cold_import",
        **{name: _call(f"import {PLATFORMS[name].packages[-1]}", name, _import) for name in COMPARED},
        reference=imported,
    ),
    _operation(
        "conv_new_layer",
        **{
            name: call._replace(text=f"{call.text}(...), its first call", make=partial(_new_layer, name))
            for name, call in conv.OPERATIONS[0].calls.items()
        },
        reference=conv.reference,
        reach=2,
        least_work=conv.least_work,
    ),
)
