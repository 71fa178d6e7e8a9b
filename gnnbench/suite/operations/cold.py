"""The import of a library, in a fresh interpreter."""

import os
import subprocess
import sys

from ..annotations import Case, Tensor
from ..libraries import torch
from ..limits import HALF, avoids
from ..operation import FORWARD, Call, operation
from ..platforms import COMPARED, PLATFORMS

_USUAL = {"float64": "float32", HALF: "float32", "int32": "int64", "cuda": "the CPU"}
_LIMITS = tuple(
    avoids(f"an import hardly depends on types and device: timed with {usual}", other)
    for other, usual in _USUAL.items()
)

_IMPORT = "import {module}; print({module}.__file__)\n"
_BEGIN = """
import sys
sys.modules.update({name: type(sys)(name) for name in sys.argv[1:]}, outdated=None)
del sys.argv[1:]
"""
"""Replaces the modules named on the command line by empty ones, and hides `outdated`: see `import_dgl`."""


def run_fresh(code: str) -> str:
    """Run code in a fresh interpreter, and return what it writes to stdout.

    The interpreter has this process's import path, but not the working directory, which may have a folder
    with a library's name. DGL is imported as in this process: without graphbolt if that has no binary.
    Raises CalledProcessError if the code fails; its stderr is that of this process.
    """
    from ..libraries import STAND_IN, uses_stand_in

    empty = [STAND_IN] if "import dgl" in code and uses_stand_in() else []
    path = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), *sys.path]
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", _BEGIN + code, *empty],
        env={**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(filter(None, path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def _import(platform: str) -> Call:
    module = PLATFORMS[platform].packages[-1]

    def run(_: Tensor) -> str:
        return run_fresh(_IMPORT.format(module=module))

    def build(case: Case) -> Tensor:
        return torch.ones(1, dtype=torch.int64, device=case.device)

    def result(file: str, ones: Tensor) -> Tensor:
        return ones * (file == f"{sys.modules[module].__file__}\n")

    return Call(f"import {module}", run, _LIMITS, build, result)


OPERATIONS = (
    operation(
        "cold_import",
        **{name: _import(name) for name in COMPARED},
        # 1 if both interpreters have imported the same file.
        reference=lambda _graph: torch.ones(1, dtype=torch.int64),
        default=False,
        directions=(FORWARD,),
        reads_all=False,
        group="first calls",
    ),
)
