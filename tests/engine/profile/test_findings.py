"""What rules find in faults; tests/suite/test_operations.py has what they find in the suite."""

import re

import pytest
import torch
from torch_geometric.nn import GCNConv, SimpleConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from gnnbench.engine.profile import counts, findings
from gnnbench.suite.graphs.catalog import DatasetName
from gnnbench.suite.graphs.load import load
from tests.engine.profile.subjects import epoch, subject_of
from tests.suite.cells import workload_of

HERE = r"tests/engine/profile/test_findings\.py:\d+ "


def find(call, **sections):
    """Return what is found by rule, in a call that is not the first."""
    call()
    taken = counts.counts(subject_of(call, "cpu", 1))
    found = findings.find({"counts": taken, **sections})
    assert len({finding.rule for finding in found}) == len(found)
    return {finding.rule: finding for finding in found}


def check(rule, fault, fixed, evidence, remedy):
    """See that a rule finds a fault, and nothing once it is fixed; return what it says."""
    found = find(fault)[rule]
    assert re.search(evidence, found.evidence)
    assert remedy in found.remedy
    assert rule not in find(fixed)
    return found.text


@pytest.fixture(scope="module")
def cora(tmp_path_factory):
    """Cora's stand-in, which needs no data."""
    return load(DatasetName.parse("cora:synthetic"), None, tmp_path_factory.mktemp("cache"))


@pytest.fixture
def x(cora):
    return cora.x[:, :64].contiguous()


def test_normalising_in_each_call(cora, x):
    settings = {}, {"cached": True}, {"normalize": False}
    fault, cached, layer = (GCNConv(64, 16, **options) for options in settings)
    before = gcn_norm(cora.edge_index, num_nodes=2708)
    for fixed, remedy in (
        (lambda: cached(x, cora.edge_index), "cached=True"),
        (lambda: layer(x, *before), "normalize=False"),
    ):
        evidence = "^gcn_norm once, with 22 of the 34 operators of a call$"
        text = check("normalisation", lambda: fault(x, cora.edge_index), fixed, evidence, remedy)
        assert text.startswith("GCNConv: ")


def test_computing_degrees_in_each_call(make_case, cora):
    cases = [make_case(operation, "dgl", graph=cora) for operation in ("conv", "conv_cached")]
    calls = [lambda one=one: one.run(*one.inputs) for one in map(workload_of, cases)]
    evidence = "^degrees 3 times, pow twice, with "
    check("degree-normalisation", *calls, evidence, "norm='none'")


def watched(call, *, item):
    """A training loop that asks for the loss after each epoch, or once."""
    losses = []
    for _ in range(5):
        loss = call()
        losses.append(loss.item() if item else loss.detach())
    return losses if item else torch.stack(losses)


def test_item_in_the_loop_is_found_with_its_caller_and_adams_steps_are_not(make_case, cora):
    call = epoch(make_case("epoch", "torch", "train", graph=cora)).pedantic.target
    both = [lambda item=item: watched(call, item=item) for item in (True, False)]
    text = check("host-reads", *both, f"^5 {HERE}watched in call$", ".item()")
    assert "tensors 5 times" in text


def initialize(u, v):
    return torch.tensor([list(u), list(v)])


def test_reading_masks_and_elements(cora, x):
    fixed = lambda: torch.where(x > 0, x, 0) + 1  # noqa: E731
    check("host-reads", lambda: x[x > 0] + 1, fixed, f"^1 {HERE}", "torch.where")
    u, v = cora.edge_index
    fixed = lambda: (torch.stack((u, v)), torch.tensor([[1, 2], [3, 4]]))  # noqa: E731
    evidence = f"^21112 {HERE}initialize in call$"
    text = check("host-reads", lambda: initialize(u, v), fixed, evidence, "torch.stack")
    assert "element by element, 21112 times" in text


def test_sorting_the_graph_in_each_call(cora, x):
    ones, remedy = torch.ones(cora.num_edges), "once, before the loop"
    matrix = torch.sparse_coo_tensor(cora.edge_index.flip(0), ones, (2708, 2708)).coalesce()
    csr = matrix.to_sparse_csr()
    check("sorts", lambda: matrix.to_sparse_csr() @ x, lambda: csr @ x, HERE, remedy)
    torch_sparse, layer = pytest.importorskip("torch_sparse"), SimpleConv()
    source, target = cora.edge_index
    adj_t = torch_sparse.SparseTensor(row=target, col=source, sparse_sizes=(2708, 2708), is_sorted=True)

    def build():
        matrix = torch_sparse.SparseTensor.from_edge_index(cora.edge_index, sparse_sizes=(2708, 2708))
        return layer(x, matrix.t())

    evidence = r"^2 torch_sparse/utils\.py:"
    text = check("sorts", build, lambda: layer(x, adj_t), evidence, remedy)
    assert "sorts twice (aten::sort)" in text  # for itself, and for its transpose


def test_copying_features_to_another_device_in_each_call(x):
    """The device `meta` takes copies as a GPU does, and is everywhere."""
    weight, there = torch.ones(64, 16, device="meta"), x.to("meta")
    calls = (lambda: x.to("meta") @ weight), (lambda: there @ weight)
    text = check("copies", *calls, HERE, "before the loop")
    assert text == f"Each call copies {2708 * 64 * 4:,} bytes between devices: 1 cpu→meta."


@pytest.mark.parametrize(
    ("calls", "mean_ns", "expected"), [(1000, 4000, True), (1000, 12_000, False), (990, 4000, False)]
)
def test_small_kernels_by_the_hundred(calls, mean_ns, expected):
    """Of ten calls; beside one large kernel in each."""
    rows = [
        {"name": "gemm", "calls": 10, "total_ns": 10 * 900_000},
        {"name": "add", "calls": calls, "total_ns": calls * mean_ns},
    ]
    found = find(lambda: None, kernels={"rows": rows, "repeats": 10})
    assert set(found) == ({"small-kernels"} if expected else set())
    if expected:
        assert "100 of the 101 kernels" in found["small-kernels"].text
        assert found["small-kernels"].evidence == "100 add"
