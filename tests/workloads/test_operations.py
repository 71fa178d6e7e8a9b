"""Every cell of the table either does its work on the small graph, or does not and the table says why."""

import importlib.util
import inspect
from dataclasses import replace

import pytest

from gnnbench.workloads import gcn, platforms, training, view
from gnnbench.workloads.operations import OPERATIONS, by_name
from gnnbench.workloads.platforms import PLATFORMS
from gnnbench.workloads.spec import DIRECTIONS, FLOATS, FORWARD_BACKWARD, INTEGERS
from gnnbench.workloads.verify import verify, with_backward
from tests.suite import ROOT

CELLS = [
    pytest.param(name, platform, direction, id=f"{name}-{platform}-{direction}")
    for name, operation in OPERATIONS.items()
    for platform in operation.calls
    for direction in operation.directions
]


def benchmarks():
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


BENCHMARKS = benchmarks()


def workload_of(case, module, measure=None):
    """Return what the operation's benchmark times, its inputs, and what of the output is compared.

    `measure` is called with them before the benchmark ends, and with it the processes that it started.
    """
    weights = gcn.initial_weights(gcn.widths(case.graph, case.spec.hidden))
    given = []

    def take(run, *inputs, result=None):
        given.append((run, inputs, result))
        if measure:
            measure(run, inputs, result)

    fixtures = {
        "case": lambda: case,
        "library": lambda: module,
        "weights": lambda: weights,
        "kernel": lambda: OPERATIONS[case.spec.operation].kernel(case.spec.platform),
        "training": lambda: training.prepare(case, module, weights),
        "measure": lambda: take,
    }
    function = BENCHMARKS[case.spec.operation]
    function(**{name: fixtures[name]() for name in inspect.signature(function).parameters})
    return given[0]


def check(case, view=None):
    """Verify a cell's workload as the suite does before it times it."""
    module = platforms.load(case.spec.platform)
    reference = OPERATIONS[case.spec.operation].reference

    def measure(run, inputs, result):
        if case.spec.direction == FORWARD_BACKWARD:
            run, inputs = with_backward(module, run, inputs)
        verify(case, module, run, inputs, reference, result=result, view=view)

    workload_of(case, module, measure)


@pytest.mark.parametrize("index_dtype", INTEGERS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("operation", "platform", "direction"), CELLS)
def test_cell_does_its_work_or_the_table_says_why_not(
    make_case, operation, platform, direction, dtype, index_dtype
):
    # Wide enough for the kernels of a real graph: tiny inputs have paths of their own.
    case = make_case(operation, platform, direction, dtype, index_dtype, hidden=64)
    limit = OPERATIONS[operation].limit(platform, direction, dtype, index_dtype, "cpu")
    if limit is None:
        check(case)
    elif limit.raises:
        # A library raises what it likes, and a wrong result is a MismatchError.
        with pytest.raises(Exception):  # noqa: B017, PT011
            check(case)


@pytest.mark.parametrize(("operation", "platform", "direction"), CELLS)
def test_cell_is_right_as_on_a_large_graph(monkeypatch, make_case, operation, platform, direction):
    monkeypatch.setattr(view, "LARGE", 0)
    monkeypatch.setattr(view, "SAMPLED_ROWS", 8)
    case = make_case(operation, platform, direction, hidden=64)
    seen = view.view_of(case.graph, 64, OPERATIONS[operation])
    if isinstance(seen, view.Projection | view.Rows):
        check(case, seen)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_row_says_something_of_every_platform(operation):
    assert set(operation.calls) | set(operation.absent) == set(PLATFORMS)
    assert not set(operation.calls) & set(operation.absent)
    assert all(
        text for text in (*(call.text for call in operation.calls.values()), *operation.absent.values())
    )
    assert operation.directions
    assert set(operation.directions) <= set(DIRECTIONS)


def test_reductions_that_only_the_cpu_has():
    cells = [("spmm_mean", "torch"), ("spmm_max", "torch"), ("spmm_max", "pyg")]
    for operation, platform in cells:
        cell = (platform, "forward", "float32", "int64")
        assert OPERATIONS[operation].limit(*cell, "cpu") is None
        assert OPERATIONS[operation].limit(*cell, "cuda").reason.endswith("on the CPU only")


def test_two_operations_of_one_name_are_refused():
    one, other = OPERATIONS["linear"], OPERATIONS["conv"]
    for double in (replace(other, name="linear"), replace(other, formerly=("linear",))):
        with pytest.raises(ValueError, match="two operations are called 'linear'"):
            by_name([one, double])


def test_every_operation_has_a_definition():
    assert all(callable(operation.reference) for operation in OPERATIONS.values())
