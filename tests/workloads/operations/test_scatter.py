"""Wrong kernels of the group fail their check."""

import pytest
import torch

from gnnbench.workloads import platforms
from gnnbench.workloads.operations import OPERATIONS, scatter, segment
from gnnbench.workloads.spec import FORWARD_BACKWARD
from gnnbench.workloads.verify import MismatchError, verify, with_backward
from tests.workloads.test_operations import workload_of

REDUCTIONS = [operation.name for module in (scatter, segment) for operation in module.OPERATIONS]


def check(case, wrong):
    """Verify `wrong(run)` in place of the operation's kernel."""
    module = platforms.load(case.spec.platform)
    run, inputs, result = workload_of(case, module)
    run = wrong(run)
    if case.spec.direction == FORWARD_BACKWARD:
        run, inputs = with_backward(module, run, inputs)
    verify(case, module, run, inputs, OPERATIONS[case.spec.operation].reference, result=result)


def test_the_index_is_not_sorted(make_case):
    index = scatter.unsorted_index(make_case("scatter_sum")).indices
    assert (index.diff() < 0).sum() > 10


def lose_the_last(run):
    return lambda where, messages: run(where, torch.cat((messages[:-1], messages[-1:] * 0)))


def double_the_gradient(run):
    def wrong(where, messages):
        out = run(where, messages)
        return 2 * out - out.detach()

    return wrong


@pytest.mark.parametrize("wrong", [lose_the_last, double_the_gradient])
@pytest.mark.parametrize("operation", REDUCTIONS)
def test_lost_messages_and_wrong_gradients(make_case, operation, wrong):
    case = make_case(operation, "torch", FORWARD_BACKWARD)
    check(case, lambda run: run)
    with pytest.raises(MismatchError):
        check(case, wrong)


@pytest.mark.parametrize("operation", [name for name in REDUCTIONS if name.startswith("scatter")])
def test_messages_of_another_node(make_case, operation):
    def wrong(run):
        return lambda to, messages: run(to._replace(indices=to.indices.sort().values), messages)

    with pytest.raises(MismatchError, match="output is wrong"):
        check(make_case(operation, "torch"), wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda ranks, _to: ranks.argsort(),
        lambda ranks, to: torch.bincount(to.indices, minlength=to.num_nodes)[to.indices] - 1 - ranks,
        lambda ranks, _to: ranks + 1,
    ],
    ids=["a permutation", "descending", "counted from one"],
)
def test_ranks(make_case, wrong):
    case = make_case("group_argsort", "pyg")
    with pytest.raises(MismatchError):
        check(case, lambda run: lambda to, values: wrong(run(to, values), to))


def test_equal_values_are_ranked_in_order(make_case):
    def unstable(run):
        return lambda to, values: run(to._replace(indices=to.indices.flip(0)), values.flip(0)).flip(0)

    with pytest.raises(MismatchError):
        check(make_case("group_argsort", "pyg"), unstable)


def test_degree_of_one_node(make_case):
    def wrong(run):
        def more(to):
            degree = run(to)
            degree[3] += 1
            return degree

        return more

    with pytest.raises(MismatchError, match="output is wrong at"):
        check(make_case("degree", "torch"), wrong)
