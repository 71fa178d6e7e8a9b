import gc
import random

import psutil
import pytest
import torch
from torch import nn

from gnnbench.engine.measure.clock import Call
from gnnbench.engine.measure.layouts import Layouts
from tests.sampling import sampled


def layouts(function, *inputs):
    return Layouts(Call(function, inputs, {}))


def test_each_renewal_lies_elsewhere_and_begins_from_the_original_values():
    x = torch.zeros(1000)
    found = layouts(torch.Tensor.add_, x, 1)
    assert found.current is found.original
    for _ in range(3):
        before = found.current.args[0]
        call = found.renew()
        assert call is found.current
        assert call.args[0].data_ptr() != before.data_ptr()
        call()
        assert call.args[0].sum() == 1000
    assert x.sum() == 0


@pytest.mark.parametrize("seed", sampled([6, 7, 8], 1))
@pytest.mark.parametrize("count", [1000, 250_000, 2_500_000])
def test_many_places_are_sampled_not_two_in_turns(count, seed):
    """Also on a heap that others have used: there, freed places of the same size are handed out again."""
    generator = random.Random(seed)
    used = []
    for _ in range(300):
        bytes_ = generator.randrange(6_000_000) // 10 ** generator.randrange(4)
        used.append(torch.empty(bytes_, dtype=torch.uint8))
        if len(used) > 40:
            del used[generator.randrange(len(used))]
    del used[::2]
    found = layouts(torch.add, torch.zeros(count // 4), torch.zeros(count // 4))
    assert found.why_in_place() is None
    places = {tuple(part.data_ptr() for part in found.renew().args) for _ in range(40)}
    assert len(places) >= 10


def test_what_cannot_be_copied_whole_or_has_no_tensors_is_timed_in_place():
    """A module that stays behind while its optimiser is copied would have nothing to step."""
    module = nn.Linear(2, 2)
    module.last = module(torch.ones(2))
    found = layouts(int, torch.optim.Adam(module.parameters()), module, torch.ones(2))
    assert found.why_in_place() == "cannot copy Linear (RuntimeError)"
    assert found.current is found.original
    for device in ("cpu", "meta"):
        assert layouts(torch.neg, torch.ones(1, device=device)).devices == (device,)
    found = layouts(sum, [1, 2])
    assert found.devices == ()
    assert found.why_in_place() == "the arguments have no tensors"


def test_copies_in_cycles_are_freed():
    class Layer(nn.Linear):
        pass

    module = Layer(500, 500)
    module.itself = [module]
    found = layouts(int, module)
    assert found.why_in_place() is None
    for _ in range(15):
        found.renew()
    assert sum(type(value) is Layer for value in gc.get_objects()) < 12


def test_memory_stays_bounded(monkeypatch):
    x = torch.zeros(2**20)
    found = layouts(torch.neg, x, x[:5], [x])
    assert found.bytes == 4 * 2**20, "a storage counts once"
    assert found.why_in_place() is None
    process, rounds = psutil.Process(), 100
    for _ in range(10):
        found.renew()
    before = process.memory_info().rss
    for _ in range(rounds):
        found.renew()
    # Up to six copies with their spacers live at once, and the heap of a process with many tests has holes.
    assert process.memory_info().rss - before < rounds / 4 * found.bytes
    memory = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory._replace(available=2**24))
    assert found.why_in_place() == "too large to copy: 0.0 GiB of inputs, 0.0 GiB free"


def test_inference_tensors_have_no_count_of_writes():
    with torch.inference_mode():
        inference = layouts(torch.neg, torch.ones(3))
    assert not inference.watch_writes()()


@pytest.mark.cuda
def test_copies_on_a_gpu_lie_elsewhere_and_leave_room():
    x = torch.zeros(2**26, device="cuda")
    before = torch.cuda.memory_allocated()
    found = layouts(torch.Tensor.add_, x, 1)
    assert found.why_in_place() is None
    assert len({found.renew().args[0].data_ptr() for _ in range(20)}) > 2
    total = torch.cuda.get_device_properties("cuda").total_memory
    assert torch.cuda.memory_allocated() - before < 0.5 * total
    found.current()
    assert x.sum() == 0
