import gc

import numpy as np
import pytest
import torch
from torch_geometric.nn import GCNConv

from gnnbench.engine.ground import devices
from gnnbench.engine.measure import memory
from gnnbench.engine.measure.memory import Memory

NODES, FEATURES = 300, 16
MIB = 2**20


@pytest.fixture
def x():
    return torch.randn(NODES, FEATURES)


def traced(call):
    return memory.trace(call, "cpu")


def test_output_counts_and_inputs_do_not(x):
    assert traced(lambda: x + x) == Memory(x.nbytes, x.nbytes)
    assert traced(x.t) == Memory(0, 0)


def test_what_is_freed_in_between_is_in_the_sum_and_not_in_the_peak(x):
    freed = traced(lambda: [None for _ in range(5) if torch.add(x, x) is None])
    assert freed == Memory(5 * x.nbytes, x.nbytes)
    assert traced(lambda: (x + x) + (x + x)) == Memory(3 * x.nbytes, 3 * x.nbytes)
    assert traced(lambda: x.add(x).relu().neg_()).peak_bytes == 2 * x.nbytes


def test_what_the_call_before_left_and_this_one_frees_hides_nothing(x):
    """Gradients, in a user's own step as in ours, wherever they are cleared; and any other state."""
    edges = torch.randint(0, NODES, (2, 2000), generator=torch.Generator().manual_seed(0))
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

    forward = traced(lambda: conv(x, edges))
    found = [traced(step) for _ in range(3)]
    assert found == found[:1] * 3
    assert found[0].peak_bytes >= forward.peak_bytes
    assert traced(replaced) == forward


def test_the_collector_is_paused_and_then_as_it_was():
    before, seen = gc.isenabled(), []
    for set_to in (gc.disable, gc.enable):
        set_to()
        collecting = gc.isenabled()
        traced(lambda: seen.append(gc.isenabled()))
        with pytest.raises(ZeroDivisionError):
            traced(lambda: 1 / 0)
        assert gc.isenabled() is collecting
    assert not any(seen)
    (gc.enable if before else gc.disable)()


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
def test_cuda_counts_in_blocks_of_512_bytes():
    x = torch.ones(1024, 1024, device="cuda")
    assert memory.trace(lambda: (x + x) + (x + x), "cuda") == Memory(3 * x.nbytes, 3 * x.nbytes)
    assert memory.trace(lambda: x[:1, :1] + 1, "cuda") == Memory(512, 512)


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda: torch.empty(2**50), "OOM at 4194304 GiB"),
        (lambda: np.empty(2**55), "OOM at 268435456 GiB"),
        (lambda: bytearray(2**60), "OOM"),
        pytest.param(lambda: torch.empty(2**42, device="cuda"), "OOM at 16384 GiB", marks=pytest.mark.cuda),
    ],
    ids=["empty", "numpy", "python", "gpu"],
)
def test_asking_for_absurdly_much(ask, text):
    with pytest.raises((RuntimeError, MemoryError)) as caught:
        ask()
    assert memory.is_out_of_memory(caught.value)
    assert memory.describe_out_of_memory(caught.value) == text


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 1.96 GiB total)", "OOM at 0.0195 GiB"),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "OOM"),
        ("[10:44:35] cuda_device_api.cc:117: Check failed: e == cudaSuccess: CUDA: out of memory", "OOM"),
    ],
)
def test_messages_of_a_gpu(message, text):
    error = torch.cuda.OutOfMemoryError(message)
    assert memory.is_out_of_memory(error)
    assert memory.is_out_of_memory(RuntimeError(message))
    assert memory.describe_out_of_memory(error) == text
    illegal = RuntimeError("CUDA error: an illegal memory access was encountered")
    assert not any(map(memory.is_out_of_memory, (illegal, KeyboardInterrupt(), ValueError("memory format"))))
