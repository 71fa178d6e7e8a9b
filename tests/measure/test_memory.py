import gc

import numpy as np
import pytest
import torch
from torch_geometric.nn import GCNConv

from gnnbench import devices
from gnnbench.measure import memory
from gnnbench.measure.memory import Memory
from gnnbench.workloads.operations import OPERATIONS

NODES, EDGES, FEATURES = 300, 2000, 16


@pytest.fixture
def edges():
    return torch.randint(0, NODES, (2, EDGES), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def x():
    return torch.randn(NODES, FEATURES)


def test_output_counts_and_inputs_do_not(x):
    assert memory.trace(lambda: x + x, "cpu") == Memory(x.nbytes, x.nbytes)
    assert memory.trace(x.t, "cpu") == Memory(0, 0)


def test_what_is_freed_in_between_is_in_the_sum_and_not_in_the_peak(x):
    def one_after_the_other():
        for _ in range(5):
            torch.add(x, x)

    assert memory.trace(one_after_the_other, "cpu") == Memory(5 * x.nbytes, x.nbytes)
    assert memory.trace(lambda: (x + x) + (x + x), "cpu") == Memory(3 * x.nbytes, 3 * x.nbytes)
    assert memory.trace(lambda: x.add(x).relu().neg_(), "cpu").peak_bytes == 2 * x.nbytes


def test_what_the_call_before_left_and_this_one_frees_hides_nothing(edges, x):
    """Gradients, in a user's own step as in ours, wherever they are cleared; and any other state."""
    conv = GCNConv(FEATURES, FEATURES)
    x.requires_grad_()
    state = {}

    def step():
        x.grad = None
        conv.zero_grad()
        conv(x, edges).sum().backward()

    def replaced():
        state.clear()
        state["output"] = conv(x, edges)

    forward = memory.trace(lambda: conv(x, edges), "cpu")
    found = [memory.trace(step, "cpu") for _ in range(3)]
    assert found == found[:1] * 3
    assert found[0].peak_bytes >= forward.peak_bytes
    assert memory.trace(replaced, "cpu") == forward


def test_gradients_that_a_call_adds_to_are_not_its_own(x):
    leaf = x.clone().requires_grad_()
    gradient = torch.ones_like(x)
    # The output, and the new gradient until it is added to the old one.
    assert memory.trace(lambda: leaf.neg().backward(gradient), "cpu") == Memory(2 * x.nbytes, 2 * x.nbytes)


@pytest.mark.parametrize(
    ("platform", "operation"),
    [("pyg", "spmm_sum"), ("torch", "spmm_max"), ("sparse", "spmm_max"), ("dgl", "update_all_copy_u_sum")],
)
def test_kernels_of_the_libraries_allocate_at_least_their_output_and_always_the_same(
    make_case, platform, operation
):
    kernel = OPERATIONS[operation].kernel(platform)
    case = make_case(operation, platform)
    structure, features = kernel.build(case), case.features()
    kernel.run(structure, features)
    found = [memory.trace(lambda: kernel.run(structure, features), "cpu") for _ in range(2)]
    assert found[0] == found[1]
    assert found[0].allocated_bytes >= found[0].peak_bytes >= features.nbytes


def test_making_a_sparse_tensor_is_seen(edges):
    torch_sparse = pytest.importorskip("torch_sparse")

    def build():
        return torch_sparse.SparseTensor.from_edge_index(edges, sparse_sizes=(NODES, NODES)).csr()

    # Rows and columns sorted, or where they stand; and the row pointer.
    assert memory.trace(build, "cpu").peak_bytes >= 8 * (EDGES + NODES + 1)


def test_collector_is_paused_and_then_as_it_was():
    seen = []
    memory.trace(lambda: seen.append(gc.isenabled()), "cpu")
    assert seen == [False]
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        memory.trace(lambda: 1 / 0, "cpu")
    assert gc.isenabled()


def test_what_torch_keeps_of_a_gpu_s_memory_is_free_too(monkeypatch):
    """After a large benchmark it keeps nearly all, and the driver has next to nothing."""
    for name, answer in {"mem_get_info": (10, 100), "memory_reserved": 80, "memory_allocated": 15}.items():
        monkeypatch.setattr(torch.cuda, name, lambda answer=answer: answer)
    assert devices.cuda_free_bytes() == 10 + 80 - 15


@pytest.mark.cuda
def test_freed_memory_is_free_though_torch_keeps_it():
    before = devices.cuda_free_bytes()
    x = torch.empty(2**28, device="cuda")
    assert before - devices.cuda_free_bytes() >= x.nbytes
    del x
    assert devices.cuda_free_bytes() >= before - 2**20
    assert torch.cuda.memory_reserved() >= 2**30


@pytest.mark.cuda
def test_a_gpu_runs_out_of_memory():
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(2**42, device="cuda")
    assert memory.is_out_of_memory(caught.value)
    assert memory.describe_out_of_memory(caught.value) == "OOM at 16384 GiB"


@pytest.mark.cuda
def test_cuda_counts_in_blocks_of_512_bytes():
    x = torch.ones(1024, 1024, device="cuda")
    assert memory.trace(lambda: (x + x) + (x + x), "cuda") == Memory(3 * x.nbytes, 3 * x.nbytes)
    assert memory.trace(lambda: x[:1, :1] + 1, "cuda") == Memory(512, 512)


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda: torch.empty(2**50), "OOM at 4194304 GiB"),
        (lambda: torch.ones(1).expand(2**52).clone(), "OOM at 16777216 GiB"),
        (lambda: np.empty(2**55), "OOM at 268435456 GiB"),
        (lambda: bytearray(2**60), "OOM"),
    ],
    ids=["empty", "clone", "numpy", "python"],
)
def test_asking_for_absurdly_much(ask, text):
    with pytest.raises((RuntimeError, MemoryError)) as caught:
        ask()
    assert memory.is_out_of_memory(caught.value)
    assert memory.describe_out_of_memory(caught.value) == text


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            "CUDA out of memory. Tried to allocate 22.78 GiB. GPU 0 has a total capacity of 31.47 GiB",
            "OOM at 22.8 GiB",
        ),
        (
            "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 1.96 GiB total)",
            "OOM at 0.0195 GiB",
        ),
        ("CUDA out of memory. Tried to allocate 512 bytes.", "OOM at 4.77e-07 GiB"),
        ("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported", "OOM"),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "OOM"),
        ("[10:44:35] cuda_device_api.cc:117: Check failed: e == cudaSuccess: CUDA: out of memory", "OOM"),
    ],
)
def test_messages_of_a_gpu(message, text):
    error = torch.cuda.OutOfMemoryError(message)
    assert memory.is_out_of_memory(error)
    assert memory.is_out_of_memory(RuntimeError(message))
    assert memory.describe_out_of_memory(error) == text


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)"),
        RuntimeError("CUDA error: an illegal memory access was encountered"),
        KeyboardInterrupt(),
        ValueError("memory format"),
    ],
)
def test_other_errors_are_not_out_of_memory(error):
    assert not memory.is_out_of_memory(error)
