"""What rules find in faults; tests/workloads/test_operations.py has what they find in the suite."""

import pytest
import torch
from torch_geometric.nn import GCNConv, SimpleConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from gnnbench.profile import counts, findings
from gnnbench.profile.subject import Subject
from tests.profile.subjects import epoch
from tests.workloads.cells import workload_of


def find(call, folder, **sections):
    """Return what is found by rule, in a call that is not the first."""
    call()
    taken = counts.take(Subject(call, "cpu", 1), folder)
    found = findings.find({"counts": taken, **sections})
    assert len({finding.rule for finding in found}) == len(found)
    return {finding.rule: finding for finding in found}


@pytest.fixture
def x(cora):
    return cora.x[:, :64].contiguous()


@pytest.fixture
def adj_t(cora):
    torch_sparse = pytest.importorskip("torch_sparse")
    source, target = cora.edge_index
    return torch_sparse.SparseTensor(row=target, col=source, sparse_sizes=(2708, 2708), is_sorted=True)


def test_gcn_norm_in_each_call_is_found_and_cached_it_is_not(cora, x, tmp_path):
    fault = GCNConv(64, 16)
    found = find(lambda: fault(x, cora.edge_index), tmp_path)["normalisation"]
    assert found.evidence == "gcn_norm once: 22 of 34 operators"
    assert found.text.startswith("GCNConv: ")
    assert "cached=True" in found.remedy
    cached = GCNConv(64, 16, cached=True)
    assert "normalisation" not in find(lambda: cached(x, cora.edge_index), tmp_path)
    before, layer = gcn_norm(cora.edge_index, num_nodes=2708), GCNConv(64, 16, normalize=False)
    assert "normalisation" not in find(lambda: layer(x, *before), tmp_path)


def test_graph_convs_degrees_are_found_and_normalised_once_they_are_not(make_case, cora, tmp_path):
    for operation, expected in (("conv", True), ("conv_cached", False)):
        case = make_case(operation, "dgl", graph=cora)
        workload = workload_of(case)
        found = find(lambda workload=workload: workload.run(*workload.inputs), tmp_path)
        assert ("degree-normalisation" in found) == expected
        if expected:
            assert found["degree-normalisation"].evidence.startswith("degrees 3 times, pow twice: ")
            assert "norm='none'" in found["degree-normalisation"].remedy


def test_an_epochs_normalisations_and_their_host_reads_are_section_as(make_case, cora, tmp_path):
    found = find(epoch(make_case("epoch", "sparse", "train", graph=cora)).call, tmp_path)
    assert found["normalisation"].evidence.startswith("gcn_norm 3 times: ")
    assert "12 torch_sparse/storage.py SparseStorage.__init__ in call/forward/GCNConv/gcn_norm/" in (
        found["host-reads"].evidence
    )
    found = find(epoch(make_case("epoch", "dgl", "train", graph=cora)).call, tmp_path)
    assert found["degree-normalisation"].evidence.startswith("degrees 9 times, pow 6 times: ")
    assert "DGLGraph.out_degrees in call/forward/GraphConv/degrees" in found["host-reads"].evidence


def watched(call, *, item):
    """A training loop that asks for the loss after each epoch, or once."""
    losses = []
    for _ in range(5):
        loss = call()
        losses.append(loss.item() if item else loss.detach())
    return losses if item else torch.stack(losses)


def test_item_in_the_loop_is_found_with_its_caller_and_adams_steps_are_not(make_case, cora, tmp_path):
    call = epoch(make_case("epoch", "torch", "train", graph=cora)).call
    found = find(lambda: watched(call, item=True), tmp_path)["host-reads"]
    assert "tensors 5 times" in found.text
    assert found.evidence.startswith("5 tests/profile/test_findings.py:")
    assert found.evidence.endswith(" watched in call")
    assert ".item()" in found.remedy
    assert "host-reads" not in find(lambda: watched(call, item=False), tmp_path)


def test_a_mask_is_found_and_where_is_not(x, tmp_path):
    assert "host-reads" in find(lambda: x[x > 0] + 1, tmp_path)
    assert find(lambda: torch.where(x > 0, x, 0) + 1, tmp_path) == {}


def initialize(u, v):
    return torch.tensor([list(u), list(v)])


def test_an_edge_list_built_of_elements_is_section_bs(cora, tmp_path):
    u, v = cora.edge_index
    found = find(lambda: initialize(u, v), tmp_path)["host-reads"]
    assert "element by element, 21112 times" in found.text
    assert found.evidence.startswith("21112 tests/profile/test_findings.py:")
    assert found.evidence.endswith(" initialize in call")
    assert "torch.stack" in found.remedy
    assert find(lambda: torch.stack((u, v)), tmp_path) == {}
    assert find(lambda: torch.tensor([[1, 2], [3, 4]]), tmp_path) == {}


def test_a_sparse_tensor_built_in_each_call_is_found_and_built_once_it_is_not(cora, x, adj_t, tmp_path):
    torch_sparse = pytest.importorskip("torch_sparse")
    layer, from_edge_index = SimpleConv(), torch_sparse.SparseTensor.from_edge_index

    def build():
        return layer(x, from_edge_index(cora.edge_index, sparse_sizes=(2708, 2708)).t())

    found = find(build, tmp_path)["sorts"]
    assert "sorts twice (aten::sort)" in found.text  # for itself, and for its transpose
    assert found.evidence.startswith("2 torch_sparse/utils.py:")
    assert find(lambda: layer(x, adj_t), tmp_path) == {}


def test_a_conversion_to_csr_in_each_call_is_found_and_done_once_it_is_not(cora, x, tmp_path):
    ones = torch.ones(cora.num_edges)
    matrix = torch.sparse_coo_tensor(cora.edge_index.flip(0), ones, (2708, 2708)).coalesce()
    assert "sorts" in find(lambda: matrix.to_sparse_csr() @ x, tmp_path)
    csr = matrix.to_sparse_csr()
    assert find(lambda: csr @ x, tmp_path) == {}


@pytest.mark.cuda
def test_features_copied_to_the_gpu_in_each_call_are_found_and_kept_there_they_are_not(x, tmp_path):
    weight, there = torch.ones(64, 16, device="cuda"), x.to("cuda")

    def on_cuda(call):
        call()
        taken = counts.take(Subject(call, "cuda", 1), tmp_path)
        return {finding.rule: finding for finding in findings.find({"counts": taken})}

    found = on_cuda(lambda: x.to("cuda") @ weight)
    assert "1 cpu→cuda" in found["copies"].text
    assert on_cuda(lambda: there @ weight) == {}
    assert set(on_cuda(lambda: (there @ weight).cpu() + 1)) == {"copies", "host-reads"}


def test_features_copied_to_another_device_in_each_call_are_found(x, tmp_path):
    """The device `meta` takes copies as a GPU does, and is everywhere."""
    weight, there = torch.ones(64, 16, device="meta"), x.to("meta")
    found = find(lambda: x.to("meta") @ weight, tmp_path)["copies"]
    assert found.text == f"Each call copies {2708 * 64 * 4:,} bytes between devices: 1 cpu→meta."
    assert "tests/profile/test_findings.py" in found.evidence
    assert find(lambda: there @ weight, tmp_path) == {}


@pytest.mark.parametrize(
    ("calls", "mean_ns", "expected"), [(1000, 4000, True), (1000, 12_000, False), (990, 4000, False)]
)
def test_small_kernels_by_the_hundred(calls, mean_ns, expected, tmp_path):
    """Of ten calls; beside one large kernel in each."""
    rows = [
        {"name": "gemm", "calls": 10, "total_ns": 10 * 900_000, "min_ns": 900_000, "max_ns": 900_000},
        {"name": "add", "calls": calls, "total_ns": calls * mean_ns, "min_ns": mean_ns, "max_ns": mean_ns},
    ]
    found = find(lambda: None, tmp_path, kernels={"rows": rows, "repeats": 10})
    assert set(found) == ({"small-kernels"} if expected else set())
    if expected:
        assert "100 of the 101 kernels" in found["small-kernels"].text
        assert found["small-kernels"].evidence == "100 add"


@pytest.mark.parametrize("requires_grad", [False, True])
def test_messages_on_edge_index_are_found_and_on_adj_t_they_are_not(cora, x, adj_t, requires_grad, tmp_path):
    layer = GCNConv(64, 16, cached=True)
    x.requires_grad_(requires_grad)
    found = find(lambda: layer(x, cora.edge_index).sum().backward(), tmp_path)
    (only,) = found.values()
    assert only.rule == "gather-scatter"
    assert only.evidence == (
        "1 from 2,708 rows to 13,264 and back by aten::index_select and aten::scatter_add_ in "
        "call/forward/GCNConv/propagate"
    )
    assert "adj_t" in only.remedy
    layer = GCNConv(64, 16, cached=True)
    assert find(lambda: layer(x, adj_t).sum().backward(), tmp_path) == {}


def test_a_record_without_what_a_rule_needs_has_no_such_finding(x, tmp_path):
    assert find(lambda: x + x, tmp_path) == {}
