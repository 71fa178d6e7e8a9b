"""Every cell of the table either does its work on the small graph, or does not and the table says why."""

from collections import defaultdict
from dataclasses import replace
from random import Random
from types import ModuleType

import pytest
import torch

from gnnbench.engine.ground.packages import missing
from gnnbench.engine.ground.parts import tensors
from gnnbench.engine.measure.layouts import Copies
from gnnbench.suite import operations, view
from gnnbench.suite.operations import OPERATIONS
from gnnbench.suite.platforms import PLATFORMS
from gnnbench.suite.spec import DIRECTIONS, TRAIN
from tests.sampling import nightly
from tests.suite.cells import ALL_CELLS, BENCHMARKS, CELLS, USUAL, Names, check, limit, measured

WIDTH = 64
"""Wide enough for the kernels of a real graph: tiny inputs have paths of their own."""


def named(run, inputs):
    """Return the output of a call, and the names of its operators."""
    with Names() as seen:
        output = run(*inputs)
    return output, seen.names


SLOW = ("cold_import", *("conv_compiled_sizes", "gat_conv_compiled_sizes"))
"""They start processes or compile, for seconds, and are nightly.

By day tests of these operations run the same code in this process and without the back end.
"""


def is_slow(operation, platform):
    """Say whether a cell is nightly; `make counters` runs the compiled ones by day."""
    return operation in SLOW or platform == "compiled"


BY_DAY = [nightly(cell) if is_slow(*cell.values[:2]) else cell for cell in CELLS]


@pytest.mark.parametrize(("operation", "platform", "direction"), BY_DAY)
def test_cell_does_its_work(make_case, monkeypatch, operation, platform, direction):
    monkeypatch.setattr(view, "LARGE", 0)
    monkeypatch.setattr(view, "SAMPLED_ROWS", 8)
    measured(make_case(operation, platform, direction, hidden=WIDTH), ask_all)


def ask_all(workload):
    """Ask everything of one workload, in as few calls as possible: some take seconds."""
    spec, operation = workload.case.spec, OPERATIONS[workload.case.spec.operation]
    marks = {mark.name for mark in BENCHMARKS[operation.name].pytestmark}
    if operation.group == "structure":
        require_equal_calls(workload)
    timed = workload.timed()
    timed.verify()
    if is_slow(operation.name, spec.platform):
        return
    if not marks & {"whole_call", "in_place"} and spec.direction == operation.directions[-1]:
        require_equal_work_on_copies(timed)
    seen = view.view_of(workload.case.graph, WIDTH, operation)
    if isinstance(seen, view.Projection | view.Rows):
        timed.verify(seen)


def require_equal_calls(workload):
    """No call profits from an earlier one."""
    graph = workload.inputs[0]
    created = graph.formats() if hasattr(graph, "formats") else None
    (_, first), (_, second) = (named(workload.run, workload.inputs) for _ in range(2))
    assert first == second
    assert created is None or graph.formats() == created, "DGL kept a format that the call made"


def require_equal_work_on_copies(timed):
    """Whatever a library caches in a structure must be in its copy: or the copy would be fast for nothing."""
    copy = copies_of(timed.inputs)
    results, names = [], []
    for inputs in (timed.inputs, copy):
        torch.manual_seed(0)  # some draw
        for _ in range(2 if timed.case.spec.direction == TRAIN else 1):  # a loss depends on earlier steps
            output, seen = named(timed.run, inputs)
            names.append(seen)
            own = timed.own(inputs)
            found = timed.result(output, *own) if timed.result else timed.module.values(output)
            results.extend(found if isinstance(found, tuple) else (found,))
    half = len(names) // 2
    assert names[:half] == names[half:]
    half = len(results) // 2
    # Sums are rounded otherwise where memory begins elsewhere.
    torch.testing.assert_close(results[:half], results[half:])


def copies_of(inputs):
    copies = Copies()
    found = copies.of(tuple(inputs))
    assert not copies.not_copied
    here, there = list(tensors(tuple(inputs))), list(tensors(found))  # both alive: some are made by asking
    places = [{part.untyped_storage().data_ptr() for part in parts} - {0} for parts in (here, there)]
    assert not places[0] & places[1]
    return found


def unusual():
    """Return cells in other types: a few by operation and platform, and all the others as nightly ones.

    The few meet each type and each refusal of the platform once. None are compiled
    or start processes, which takes longer.
    """
    found, by_call = [], defaultdict(list)
    for cell in ALL_CELLS:
        by_call[cell[:2]].append(cell)
    for operation, row in OPERATIONS.items():
        for platform in row.calls:
            cells = [cell for cell in by_call[operation, platform] if meets(cell)]
            Random(f"{operation} {platform}").shuffle(cells)
            missing = set().union(*map(meets, cells))
            while cells:
                cell = max(cells, key=lambda cell: len(missing & meets(cell)))
                cells.remove(cell)
                case = pytest.param(*cell, id="-".join(cell))
                is_long = "compiled" in f"{operation} {platform}" or "2_workers" in operation
                chosen = missing & meets(cell) and not is_long
                found.append(case if chosen else nightly(case))
                missing -= meets(cell)
    return found


def meets(cell):
    """Return the types that a cell shows to be right, or the refusal that it shows."""
    found = limit(*cell)
    if found:
        return {found} if found.raises else set()
    return set(cell[3:]) - set(USUAL)


@pytest.mark.parametrize(("operation", "platform", "direction", "dtype", "index_dtype"), unusual())
def test_cell_does_its_work_in_other_types_or_is_refused(
    make_case, directed_graph, operation, platform, direction, dtype, index_dtype
):
    # What is sampled and converted depends on the direction of edges: most of these have one only.
    own = OPERATIONS[operation]
    graph = directed_graph if own.group in ("sampling", "structure") and not own.relational else None
    case = make_case(operation, platform, direction, dtype, index_dtype, WIDTH, graph)
    if limit(operation, platform, direction, dtype, index_dtype):
        if reason := missing(PLATFORMS[platform].also):  # which refuses it
            pytest.skip(reason)
        # A library raises what it likes, and a wrong result is a MismatchError.
        with pytest.raises(Exception):  # noqa: B017, PT011
            check(case)
    else:
        check(case)


def test_rows_say_something_of_every_platform():
    for name, operation in OPERATIONS.items():
        assert name == operation.name
        others = {"compiled", "pyg_lib"} - set(operation.calls)  # ways of using PyG, which few have
        assert sorted((*operation.calls, *operation.absent, *others)) == sorted(PLATFORMS), name
        assert all((*(call.text for call in operation.calls.values()), *operation.absent.values())), name
        assert set() < set(operation.directions) <= set(DIRECTIONS), name
        assert callable(operation.reference), name


def test_a_limit_may_hold_only_where_a_node_has_many_neighbours(make_case, small_graph):
    case = make_case("gin_inference_1_thread", "compiled", dtype="bfloat16")
    operation = OPERATIONS["gin_inference_1_thread"]
    assert operation.why_not_on(small_graph, case.spec) is None
    star = torch.stack((torch.arange(1, 200), torch.zeros(199, dtype=torch.int64)))
    hub = replace(small_graph, edge_index=star)
    assert hub.max_degree == 199
    assert operation.why_not_on(hub, case.spec).endswith("too inexact at nodes of high degree")
    for other in (replace(case.spec, dtype="float32"), replace(case.spec, platform="pyg"), None):
        assert operation.why_not_on(hub, other) is None


def test_no_two_operations_have_the_same_name():
    modules = [module for module in vars(operations).values() if isinstance(module, ModuleType)]
    assert sum(len(getattr(module, "OPERATIONS", ())) for module in modules) == len(OPERATIONS)


def test_operations_say_which_graphs_they_need(small_graph, typed_graph, molecules):
    for name, operation in OPERATIONS.items():
        needed = f"use --gnn-dataset {' or '.join(operation.graphs)}"
        graph, refusal = small_graph, None
        if operation.relational:
            graph, refusal = typed_graph, f"small has one relation: {needed}"
        elif operation.batched:
            graph, refusal = molecules, f"small is one graph, not many: {needed}"
        assert operation.why_not_on(small_graph) == refusal, name
        assert operation.why_not_on(graph) is None, name
        assert bool(operation.graphs) >= bool(refusal), name
