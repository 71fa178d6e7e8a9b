import gc
import random

import psutil
import pytest
import torch
from torch import nn

from gnnbench.measure.clock import Call
from gnnbench.measure.layouts import Layouts
from tests.sampling import sampled


def test_each_renewal_lies_elsewhere_and_begins_from_the_original_values():
    x = torch.zeros(1000)
    layouts = Layouts(Call(torch.Tensor.add_, (x, 1), {}))
    assert layouts.current is layouts.original
    for _ in range(3):
        before = layouts.current.args[0]
        call = layouts.renew()
        assert call is layouts.current
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
    layouts = Layouts(Call(torch.add, (torch.zeros(count // 4), torch.zeros(count // 4)), {}))
    assert layouts.why_in_place() is None
    places = {tuple(part.data_ptr() for part in layouts.renew().args) for _ in range(40)}
    assert len(places) >= 10


def test_what_cannot_be_copied_whole_is_timed_in_place():
    """A module that stays behind while its optimiser is copied would have nothing to step."""
    module = nn.Linear(2, 2)
    module.last = module(torch.ones(2))
    inputs = (torch.optim.Adam(module.parameters()), module, torch.ones(2))
    layouts = Layouts(Call(int, inputs, {}))
    assert layouts.why_in_place() == "cannot copy Linear (RuntimeError)"
    assert layouts.current is layouts.original


@pytest.mark.usefixtures("few_objects")
def test_copies_in_cycles_are_freed():
    module = nn.Linear(500, 500)
    module.itself = [module]
    layouts = Layouts(Call(int, (module,), {}))
    assert layouts.why_in_place() is None
    for _ in range(30):
        layouts.renew()
    alive = sum(type(value) is nn.Linear for value in gc.get_objects())
    assert alive < 12


def test_memory_stays_bounded(monkeypatch):
    x = torch.zeros(2**20)
    layouts = Layouts(Call(torch.neg, (x, x[:5], [x]), {}))
    assert layouts.bytes == 4 * 2**20, "a storage counts once"
    assert layouts.why_in_place() is None
    process = psutil.Process()
    for _ in range(10):
        layouts.renew()
    before = process.memory_info().rss
    rounds = 100
    for _ in range(rounds):
        layouts.renew()
    # Up to six copies with their spacers live at once, and the heap of a process with many tests has holes.
    assert process.memory_info().rss - before < rounds / 4 * layouts.bytes
    memory = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory._replace(available=2**24))
    assert layouts.why_in_place() == "too large to copy: 0.0 GiB of inputs, 0.0 GiB free"


def test_devices_are_those_of_the_tensors_and_without_tensors_there_is_one_layout():
    for device in ("cpu", "meta"):
        assert Layouts(Call(torch.neg, (torch.ones(1, device=device),), {})).devices == (device,)
    layouts = Layouts(Call(sum, ([1, 2],), {}))
    assert layouts.devices == ()
    assert layouts.why_in_place() == "no tensors among its arguments"


def test_writing_to_an_input_is_seen():
    layouts = Layouts(Call(torch.neg, (torch.ones(3),), {}))
    layouts.renew()
    written = layouts.watch()
    layouts.current()
    assert not written()
    layouts.current.args[0].add_(1)
    assert written()
    with torch.inference_mode():
        inference = Layouts(Call(torch.neg, (torch.ones(3),), {}))
    assert not inference.watch()()


@pytest.mark.cuda
def test_copies_on_a_gpu_lie_elsewhere_and_leave_room():
    x = torch.zeros(2**26, device="cuda")
    before = torch.cuda.memory_allocated()
    layouts = Layouts(Call(torch.Tensor.add_, (x, 1), {}))
    assert layouts.why_in_place() is None
    places = {layouts.renew().args[0].data_ptr() for _ in range(20)}
    assert len(places) > 2
    assert (
        torch.cuda.memory_allocated() - before < 0.5 * torch.cuda.get_device_properties("cuda").total_memory
    )
    layouts.current()
    assert x.sum() == 0
