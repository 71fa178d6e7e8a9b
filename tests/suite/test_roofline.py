"""Rates measured on this machine, small and short; and what is made of them."""

import json

import pytest
import torch

from gnnbench.engine.ground.labels import Work
from gnnbench.suite import roofline
from gnnbench.suite.roofline import Rates, measure, rates
from gnnbench.suite.spec import FORWARD_BACKWARD, TRAIN
from tests.suite.cells import workload_of

MIB = 2**20
SENTINEL = {"copy_bytes_per_second": 1.5, "flops_per_second": 2.5}


@pytest.fixture(autouse=True)
def _briefly_and_in_little_memory(monkeypatch):
    monkeypatch.setattr(roofline, "_SECONDS", 0.01)
    monkeypatch.setattr(roofline, "free_bytes", lambda: 16 * MIB)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_measures_plausible_rates_in_an_eighth_of_the_free_memory(dtype, monkeypatch):
    taken = []
    for make in (torch.ones, torch.rand):

        def recorded(*args, make=make, **kwargs):
            tensor = make(*args, **kwargs)
            taken.append(2 * tensor.nbytes)  # each has a second of its size beside it
            return tensor

        monkeypatch.setattr(torch, make.__name__, recorded)
    before = torch.random.get_rng_state()
    found = measure("cpu", dtype)
    assert 1e6 < found.copy_bytes_per_second < 1e14
    assert 1e6 < found.flops_per_second < 1e17
    assert 0 < max(taken) <= 2 * MIB
    assert torch.equal(torch.random.get_rng_state(), before), "random numbers are the user's"


def test_measures_once_for_each_environment_and_dtype(tmp_path):
    file = tmp_path / "rates/here-cpu.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"float32": SENTINEL}))
    assert rates("cpu", "float32", "here", tmp_path) == Rates(1.5, 2.5)
    assert rates("cpu", "float64", "here", tmp_path).flops_per_second > 2.5
    assert json.loads(file.read_text())["float32"] == SENTINEL
    assert rates("cpu", "float32", "elsewhere", tmp_path).flops_per_second > 2.5
    assert (tmp_path / "rates/elsewhere-cpu.json").exists()


BOTH = FORWARD_BACKWARD
N, D, F, C = 60, 24, 8, 4
"""Nodes of the small graph, its features, hidden width and classes."""
PARAMETERS = (D * F + F) + (F * F + F) + (F * C + C)


@pytest.mark.parametrize(
    ("operation", "platform", "direction", "numbers", "products"),
    [
        *(("gather_scatter_sum", platform, "forward", 2 * N * F, 0) for platform in ("pyg", "torch")),
        *(("spmm_sum", platform, BOTH, 4 * N * F, 0) for platform in ("sparse", "dgl")),
        # Of the layer, weight and bias, and their gradients; of weight and input the products.
        *(
            ("conv", platform, BOTH, 4 * N * F + 2 * (F * F + F), 3 * N * F * F)
            for platform in ("pyg", "sparse", "dgl")
        ),
        # x, parameters, gradients, both moments and the number of steps of each, loss; nothing for x.
        (
            "epoch",
            "dgl",
            TRAIN,
            N * D + 4 * PARAMETERS + 6 + 1,
            2 * N * D * F + 3 * N * F * F + 3 * N * F * C,
        ),
    ],
)
def test_the_least_work_of_a_call(make_case, operation, platform, direction, numbers, products):
    """What it takes and gives, and the products."""
    case = make_case(operation, platform, direction, hidden=F)
    timed, entries = workload_of(case).timed(), case.graph.num_edges
    found = roofline.least(case, timed.run, timed.inputs)
    assert found == Work(8 * (N + 1 + entries) + 4 * numbers, 2 * products)


def test_what_is_above_the_bound_is_explained():
    for seconds, note in ((2.0, ""), (0.9, roofline._ABOVE)):
        found = roofline.limit(Work(MIB, 5), Rates(MIB, 1e12), seconds)
        assert (found.fraction, found.note) == (pytest.approx(1 / seconds), note)
    assert roofline.limit(Work(5, MIB), Rates(1e12, MIB), 2.0).fraction == pytest.approx(0.5)


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_gpu_copies_and_multiplies_faster_than_a_laptop(dtype, monkeypatch):
    monkeypatch.setattr(roofline, "_SECONDS", 0.2)
    found = measure("cuda", dtype)
    assert 5e10 < found.copy_bytes_per_second < 1e14
    assert 1e12 < found.flops_per_second < 1e17
