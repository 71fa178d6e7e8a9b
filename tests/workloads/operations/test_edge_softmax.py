"""A wrong softmax is found: what it misses, mixes or normalises over."""

import pytest
import torch
from torch_geometric import utils

from gnnbench.workloads import platforms
from gnnbench.workloads.least_work import Work
from gnnbench.workloads.operations import REFERENCES
from gnnbench.workloads.operations.edge_softmax import scores
from gnnbench.workloads.roofline import least
from gnnbench.workloads.verify import MismatchError, verify, with_backward
from tests.workloads.test_least_work import make_graph


def check(case, run):
    module = platforms.load("torch")
    inputs = case.edge_index(), scores(case)
    if case.requires_grad:
        run, inputs = with_backward(module, run, inputs)
    verify(case, module, run, inputs, REFERENCES.edge_softmax)


def right(edge_index, score):
    return utils.softmax(score, edge_index[1])


def without_maximum(edge_index, score):
    exponential = score.exp()
    total = torch.zeros(60, score.size(1)).index_add(0, edge_index[1], exponential)
    return exponential / total[edge_index[1]]


WRONG = {
    "maximum not subtracted": without_maximum,
    "by source": lambda edge_index, score: utils.softmax(score, edge_index[0]),
    "over heads": lambda _, score: score.softmax(dim=1),
    "heads mixed": lambda edge_index, score: right(edge_index, score.flip(1)),
    "another edge's": lambda edge_index, score: right(edge_index, score.roll(1, 0)),
}


@pytest.mark.parametrize("run", WRONG.values(), ids=WRONG)
def test_wrong_output(make_case, run):
    case = make_case()
    check(case, right)
    with pytest.raises(MismatchError, match="output is wrong"):
        check(case, run)


def test_gradient_as_of_the_numerator_alone(make_case):
    case = make_case(direction="forward_backward")
    check(case, right)

    def run(edge_index, score):
        constant = right(edge_index, score).detach()
        return constant * (score - score.detach() + 1)

    with pytest.raises(MismatchError, match="gradient of input tensor 0 is wrong"):
        check(case, run)


@pytest.mark.parametrize("operation", ["edge_softmax", "edge_softmax_ptr"])
def test_least_work_by_hand(make_case, operation):
    forward, both = (
        least(make_case(operation, "pyg", direction, graph=make_graph()))
        for direction in ("forward", "forward_backward")
    )
    assert forward == Work(8 * 10 + 4 * 2 * 16 * 8, 3 * 16 * 8)
    assert both == Work(8 * 10 + 2 * 4 * 2 * 16 * 8, 7 * 16 * 8)
