"""A wrong product of both ends is found."""

import pytest

from gnnbench.workloads import platforms
from gnnbench.workloads.least_work import Work
from gnnbench.workloads.operations import REFERENCES
from gnnbench.workloads.operations.sddmm import features
from gnnbench.workloads.roofline import least
from gnnbench.workloads.verify import MismatchError, verify, with_backward
from tests.workloads.test_least_work import make_graph


def check(case, run):
    module = platforms.load("torch")
    inputs = case.edge_index(), *features(case)
    if case.requires_grad:
        run, inputs = with_backward(module, run, inputs)
    verify(case, module, run, inputs, REFERENCES.sddmm)


def right(edge_index, x, y):
    return (x[edge_index[0]] * y[edge_index[1]]).sum(dim=1)


WRONG = {
    "ends exchanged": lambda edge_index, x, y: right(edge_index, y, x),
    "one end's features for both": lambda edge_index, x, _: right(edge_index, x, x),
    "a column is missing": lambda edge_index, x, y: right(edge_index, x[:, 1:], y[:, 1:]),
    "mean": lambda edge_index, x, y: right(edge_index, x, y) / x.size(1),
}


@pytest.mark.parametrize("run", WRONG.values(), ids=WRONG)
def test_wrong_output(make_case, run):
    check(make_case(), right)
    with pytest.raises(MismatchError, match="output is wrong"):
        check(make_case(), run)


@pytest.mark.parametrize("which", [0, 1])
def test_wrong_gradient_of_either_end(make_case, which):
    case = make_case(direction="forward_backward")
    check(case, right)

    def run(edge_index, *ends):
        scaled = [
            end * 1.001 - end.detach() * 0.001 if index == which else end for index, end in enumerate(ends)
        ]
        return right(edge_index, *scaled)

    with pytest.raises(MismatchError, match=f"gradient of input tensor {which} is wrong"):
        check(case, run)


def test_least_work_by_hand(make_case):
    forward, both = (
        least(make_case("sddmm", "pyg", direction, graph=make_graph()))
        for direction in ("forward", "forward_backward")
    )
    assert forward == Work(208 + 4 * (2 * 7 * 8 + 16), 2 * 16 * 8)
    assert both == Work(208 + 4 * (2 * 7 * 8 + 16 + 2 * 9 * 8 + 16), 6 * 16 * 8)
