"""Operations as their benchmarks in benchmarks/ time them."""

import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from torch.utils._python_dispatch import TorchDispatchMode

from gnnbench.suite import platforms, training
from gnnbench.suite.accuracy import MismatchError
from gnnbench.suite.backward import with_backward
from gnnbench.suite.case import Case
from gnnbench.suite.operations import OPERATIONS
from gnnbench.suite.platforms import Result
from gnnbench.suite.spec import FLOATS, FORWARD_BACKWARD, INTEGERS
from gnnbench.suite.verify import verify
from gnnbench.suite.view import View
from tests.runs import ROOT

USUAL = ("float32", "int64")


def limit(operation, platform, direction, dtype="float32", index_dtype="int64"):
    return OPERATIONS[operation].limit(platform, direction, dtype, index_dtype, "cpu")


ALL_CELLS = [
    (name, platform, direction, dtype, index_dtype)
    for name, operation in OPERATIONS.items()
    for platform in operation.calls
    for direction in operation.directions
    for dtype in FLOATS
    for index_dtype in INTEGERS
]
"""The whole table, with what a platform does not support."""

CELLS = [
    pytest.param(*cell[:3], id="-".join(cell[:3]))
    for cell in ALL_CELLS
    if cell[3:] == USUAL and limit(*cell) is None
]
"""Operation, platform and direction of what runs in the usual types."""


def _benchmarks():
    """Return by operation the function in benchmarks/ that runs it."""
    found = {}
    for path in sorted((ROOT / "benchmarks").glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"benchmarks.{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for function in vars(module).values():
            for mark in getattr(function, "pytestmark", ()):
                found |= dict.fromkeys(mark.args, function) if mark.name == "operations" else {}
    return found


BENCHMARKS = _benchmarks()


@dataclass(frozen=True)
class Workload:
    """What a benchmark times, its inputs, and what of the output is compared."""

    case: Case
    run: Callable[..., Any]
    inputs: tuple[Any, ...]
    result: Result | None

    @property
    def module(self):
        return platforms.load(self.case.spec.platform)

    @property
    def has_gradients(self):
        return self.case.spec.direction == FORWARD_BACKWARD

    def timed(self):
        """Return what is timed: with the backward pass, if the direction has one."""
        if not self.has_gradients:
            return self
        run, inputs = with_backward(self.module, self.run, self.inputs)
        return replace(self, run=run, inputs=inputs)

    def own(self, inputs):
        """Return the inputs without the gradient of the output that `timed` adds."""
        return inputs[1:] if self.has_gradients else inputs

    def verify(self, view: View | None = None):
        """Verify what `timed` returned as the suite does before it times it, and return the output."""
        outputs = []

        def run(*inputs):
            outputs.append(self.run(*inputs))
            return outputs[0]

        reference = OPERATIONS[self.case.spec.operation].reference
        verify(self.case, self.module, run, self.inputs, reference, result=self.result, view=view)
        return outputs[0]

    def must_be_found_wrong(self, wrong, message):
        """Verify `wrong(run, *inputs)` in the place of `run(*inputs)`."""
        changed = replace(self, run=lambda *inputs: wrong(self.run, *inputs))
        with pytest.raises(MismatchError, match=message):
            changed.timed().verify()


def measured(case, ask):
    """Run an operation's benchmark, and call `ask` with the workload where it would be timed.

    Processes that the benchmark starts end with it.
    """
    module = platforms.load(case.spec.platform)
    fixtures = {
        "case": lambda: case,
        "library": lambda: module,
        "kernel": lambda: OPERATIONS[case.spec.operation].kernel(case.spec.platform),
        "training": lambda: training.prepare(case, module),
        "measure": lambda: (
            lambda run, *inputs, result=None: ask(Workload(case, case.call(run), inputs, result))
        ),
    }
    function = BENCHMARKS[case.spec.operation]
    function(**{name: fixtures[name]() for name in inspect.signature(function).parameters})


def workload_of(case):
    found = []
    measured(case, found.append)
    return found[0]


def check(case):
    """Verify a cell's workload as the suite does before it times it."""
    measured(case, lambda workload: workload.timed().verify())


class Names(TorchDispatchMode):
    """Lists the operators that are dispatched."""

    @classmethod
    def ignore_compile_internals(cls):
        """Compiled code runs under this mode too."""
        return True

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))
