"""Every cell of the table either does its work on the small graph, or does not and the table says why."""

import pytest

from gnnbench.workloads import gcn, platforms, training
from gnnbench.workloads.case import gradient_for
from gnnbench.workloads.mhaug import workloads
from gnnbench.workloads.operations import OPERATIONS
from gnnbench.workloads.platforms import PLATFORMS
from gnnbench.workloads.spec import DIRECTIONS, FLOATS, FORWARD_BACKWARD, INTEGERS
from gnnbench.workloads.verify import verify, with_backward

CELLS = [
    pytest.param(name, platform, direction, id=f"{name}-{platform}-{direction}")
    for name, operation in OPERATIONS.items()
    for platform in operation.calls
    for direction in operation.directions
]


def kernel_workload(case, module):
    """Return what is timed, and its inputs."""
    name = case.spec.operation
    kernel = OPERATIONS[name].kernel(case.spec.platform)
    match name:
        case "add_remaining_self_loops" | "gcn_norm" | "edge_weight_norm":
            inputs = [case.edge_weight()]
        case (
            "degree_norm" | "aggregate" | "aggregate_one_hop" | "aggregate_three_hops" | "aggregate_four_hops"
        ):
            inputs = [case.features(1)]
        case "update_all_u_mul_e_sum":
            inputs = [case.features(), case.edge_weight()]
        case "linear":
            weight, _ = case.weights(case.graph.num_features, case.spec.hidden)
            inputs = [module.linear_layer(weight), case.node_features()]
        case "conv" | "conv_cached":
            weight, bias = case.weights(case.spec.hidden, case.spec.hidden)
            inputs = [module.layer(weight, bias, cached=name == "conv_cached"), case.features()]
        case _:
            inputs = [case.features()]
    return kernel.run, [kernel.build(case), *inputs]


def epoch_workload(case, module):
    """Return likewise an epoch, or one of its phases."""
    weights = gcn.initial_weights(gcn.widths(case.graph, case.spec.hidden))
    prepared = training.prepare(case, module, weights)
    model, optimizer, structure = prepared.model, prepared.optimizer, prepared.structure
    x, train, y = prepared.x, prepared.train, prepared.y
    match case.spec.operation:
        case "epoch":
            return training.epoch, [model, structure, x, train, y, optimizer]
        case "epoch_forward":
            return lambda model, x: model(structure, x), [model, x]
        case "epoch_loss":
            return training.loss, [case.features(case.graph.num_classes), train, y]
        case "epoch_backward":

            def backward(model, x):
                value = training.loss(model(structure, x), train, y)
                value.backward()
                return value

            return backward, [model, x]
        case "epoch_step":
            weight = model.layers[0].weight
            weight.grad = gradient_for(weight)
            return lambda weight: optimizer.step() or weight, [weight]


def chain_workload(case, _module):
    """Return likewise a part of MH-Aug's chain."""
    _, part, *_ = case.spec.operation.split("_")
    run, inputs = getattr(workloads, part)(case)
    return run, list(inputs)


def workload_of(case, module):
    """Return what is timed, and its inputs."""
    kind, _, _ = case.spec.operation.partition("_")
    return {"epoch": epoch_workload, "mh": chain_workload}.get(kind, kernel_workload)(case, module)


def check(case):
    """Verify a cell's workload as the suite does before it times it."""
    module = platforms.load(case.spec.platform)
    run, inputs = workload_of(case, module)
    if case.spec.direction == FORWARD_BACKWARD:
        run, inputs = with_backward(module, run, inputs)
    verify(case, module, run, inputs, OPERATIONS[case.spec.operation].reference)


@pytest.mark.parametrize("index_dtype", INTEGERS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("operation", "platform", "direction"), CELLS)
def test_cell_does_its_work_or_the_table_says_why_not(
    make_case, operation, platform, direction, dtype, index_dtype
):
    # Wide enough for the kernels of a real graph: tiny inputs have paths of their own.
    case = make_case(operation, platform, direction, dtype, index_dtype, hidden=64)
    reason = OPERATIONS[operation].unsupported(platform, direction, dtype, index_dtype, "cpu")
    if reason is None:
        check(case)
    elif not reason.startswith("the gradient of"):
        # A library raises what it likes, and a wrong result is a MismatchError.
        with pytest.raises((RuntimeError, TypeError, ValueError, AssertionError)):
            check(case)


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
        assert OPERATIONS[operation].unsupported(*cell, "cpu") is None
        assert OPERATIONS[operation].unsupported(*cell, "cuda").endswith("on the CPU only")
