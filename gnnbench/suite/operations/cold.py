"""What happens once: the import of a library, in a fresh interpreter, and the first call of a new layer."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from ..annotations import Case, Tensor
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
_BEGIN = """
import json, sys
from importlib.machinery import PathFinder

class Same:
    def find_spec(self, name, path=None, target=None):
        folder = FOLDERS.get(name) if path is None else None
        return folder and PathFinder.find_spec(name, [folder])

FOLDERS, EMPTY = map(json.loads, sys.argv[1:])
sys.meta_path.insert(0, Same())
sys.modules.update({name: type(sys)(name) for name in EMPTY}, outdated=None)
del sys.argv[1:]
"""


class InterpreterError(Exception):
    """The code raised; the message has its last line."""


def run_fresh(code: str) -> str:
    """Run code in a fresh interpreter, and return what it writes to stdout.

    Two variants of a package are compared in processes that import it from different folders, so what
    `import` finds by itself may be another one. DGL is imported in the way of this process.
    """
    from ..libraries import STAND_IN, uses_stand_in

    empty = [STAND_IN] if "import dgl" in code and uses_stand_in() else []
    process = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _BEGIN + code, json.dumps(_folders()), json.dumps(empty)],
        # By itself it would search the working directory, and there may be a folder of a library's name.
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        *_, last = ["no message", *process.stderr.split("\n")[:-1]]
        raise InterpreterError(f"a fresh interpreter ended with status {process.returncode}: {last}")
    return process.stdout


def _folders() -> dict[str, str]:
    """Return the folders of the packages that this process has imported, by name."""
    return {
        name: str(Path(file).parents[1])
        for name, module in list(sys.modules.items())
        if (file := getattr(module, "__file__", None)) and hasattr(module, "__path__")
        if "." not in name and name not in sys.stdlib_module_names
    }


def _import(platform: str) -> Kernel:
    load(platform)
    module = PLATFORMS[platform].packages[-1]

    def build(case: Case) -> Tensor:
        return torch.ones(1, dtype=torch.int64, device=case.device)

    def result(file: str, ones: Tensor) -> Tensor:
        return ones * (file == f"{sys.modules[module].__file__}\n")

    return Kernel(build, lambda _: run_fresh(_IMPORT.format(module=module)), result)


def _new_layer(platform: str) -> Kernel:
    module = load(platform)
    kernel = module.convolution()

    def run(structure: Any, weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
        output: Tensor = kernel.run(structure, module.layer(weight, bias), x)
        return output

    return Kernel(kernel.build, run)


def _call(text: str, platform: str, kernel: Any) -> Call:
    return Call(text, make=partial(kernel, platform), limits=_LIMITS)


_operation = partial(operation, default=False, directions=(FORWARD,), group="first calls")

OPERATIONS = (
    _operation(
        "cold_import",
        **{name: _call(f"import {PLATFORMS[name].packages[-1]}", name, _import) for name in COMPARED},
        # The other interpreter has imported the file that this one has.
        reference=lambda _graph: torch.ones(1, dtype=torch.int64),
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
