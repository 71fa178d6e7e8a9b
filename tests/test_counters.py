import pytest
import torch
from torch_geometric.nn import GCNConv

from gnnbench import counter_baseline, counters, platforms


@pytest.fixture
def neighbours(make_case):
    """Sums over neighbours on plain PyTorch, as a function without arguments."""
    case = make_case()
    kernel = platforms.load("torch").KERNELS["spmm_sum"]
    structure, x = kernel.build(case), case.features()
    return lambda: kernel.run(structure, x)


@pytest.mark.parametrize(
    ("sparse", "requires_grad", "operators", "host_reads"),
    [(False, False, 49, 0), (True, False, 60, 4), (False, True, 52, 0), (True, True, 63, 4)],
)
def test_gcn_conv_on_sparse_tensor_reads_the_host_four_times(sparse, requires_grad, operators, host_reads):
    """The published counts of GCNConv(64, 64) on Cora's size, forward and backward."""
    structure = torch.randint(0, 2708, (2, 10_556), generator=torch.Generator().manual_seed(0))
    if sparse:
        torch_sparse = pytest.importorskip("torch_sparse")
        structure = torch_sparse.SparseTensor.from_edge_index(structure, sparse_sizes=(2708, 2708)).t()
    conv, x = GCNConv(64, 64), torch.randn(2708, 64, requires_grad=requires_grad)
    found = counters.count(lambda: conv(x, structure).sum().backward())
    assert (found.operators, found.host_reads) == (operators, host_reads)
    assert found.counts["operators"].get("aten::max", 0) == host_reads
    assert found.unsteady == ()


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (lambda output: output[0, 0].item(), "+1 aten::_local_scalar_dense"),
        (lambda output: output.argsort(dim=0), "+1 aten::sort"),
        (lambda output: output.double(), "+1 aten::_to_copy"),
        (lambda _: torch.arange(9).argsort(), "+1 aten::sort"),
    ],
    ids=["item", "argsort", "upcast", "argsort of another"],
)
def test_what_is_added_to_a_kernel_is_named(neighbours, more, named):
    before = counters.count(neighbours)
    after = counters.count(lambda: more(neighbours()))
    assert named in counter_baseline.differences(before.counts, after.counts, after.unsteady)


def test_a_doubled_product_is_named(neighbours):
    before = counters.count(neighbours)
    after = counters.count(lambda: (neighbours(), neighbours()))
    changed = counter_baseline.differences(before.counts, after.counts, after.unsteady)
    assert [line for line in changed if "mm" in line] == ["+1 aten::_sparse_mm_reduce_impl"]


@pytest.mark.parametrize("platform", ["pyg", "sparse", "torch", "dgl"])
def test_ten_counts_with_one_thread_and_two_are_the_same(make_case, platform):
    module = platforms.load(platform)
    operation = module.MODEL_OPERATION
    case = make_case(operation, platform)
    layer = module.layer(*case.weights(8, 8), cached=False)
    structure, x = module.KERNELS[operation].build(case), case.features()
    threads = torch.get_num_threads()
    try:
        found = []
        for number in [1, 2] * 5:
            torch.set_num_threads(number)
            found.append(counters.count(lambda: module.KERNELS[operation].run(structure, layer, x)))
    finally:
        torch.set_num_threads(threads)
    assert found == found[:1] * 10


@pytest.mark.parametrize(
    ("platform", "call"), [("sparse", "torch_sparse::spmm_max"), ("dgl", "dgl::DGLKernelSpMM")]
)
def test_calls_into_libraries_are_counted_and_the_libraries_left_as_they_were(make_case, platform, call):
    module = platforms.load(platform)
    operation = {"sparse": "spmm_max", "dgl": "update_all_copy_u_max"}[platform]
    case = make_case(operation, platform)
    structure, x = module.KERNELS[operation].build(case), case.features()
    packet_call = torch._ops.OpOverloadPacket.__call__
    found = counters.count(lambda: module.KERNELS[operation].run(structure, x))
    assert found.counts["library_calls"][call] == 1
    assert torch._ops.OpOverloadPacket.__call__ is packet_call


def test_a_count_that_two_passes_differ_in_is_unsteady_and_not_judged(neighbours):
    state = {"calls": 0}

    def sometimes():
        state["calls"] += 1
        if state["calls"] % 4 != 1:
            torch.ones(3).argsort()
        return neighbours()

    found = counters.count(sometimes)
    assert "aten::sort" in found.unsteady
    assert "aten::sort" not in found.counts["operators"]
    steady = counters.count(neighbours)
    assert counter_baseline.differences(steady.counts, found.counts, (*found.unsteady, "Python calls")) == []


def test_copies_between_devices_have_a_direction_and_bytes():
    x = torch.ones(5, 4)
    found = counters.count(lambda: x.to("meta"))
    assert found.counts["copies"] == {"cpu→meta": 1}
    assert found.counts["copied_bytes"] == {"cpu→meta": 80}
