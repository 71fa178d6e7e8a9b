import psutil
import torch

from gnnbench.clock import Call
from gnnbench.layout import Layouts


def test_each_renewal_lies_elsewhere_and_begins_from_the_original_values():
    x = torch.zeros(1000)
    layouts = Layouts(Call(torch.Tensor.add_, (x, 1), {}))
    assert layouts.current is layouts.original
    places = set()
    for _ in range(3):
        before = layouts.current.args[0]
        call = layouts.renew()
        assert call is layouts.current
        assert call.args[0].data_ptr() != before.data_ptr()
        places.add(call.args[0].data_ptr())
        call()
        assert call.args[0].sum() == 1000
    assert x.sum() == 0
    assert len(places) > 1


def test_memory_stays_bounded(monkeypatch):
    x = torch.zeros(2**20)
    layouts = Layouts(Call(torch.neg, (x, x[:5], [x]), {}))
    assert layouts.bytes == 4 * 2**20, "a storage counts once"
    assert layouts.why_in_place() is None
    process = psutil.Process()
    layouts.renew()
    before = process.memory_info().rss
    for _ in range(50):
        layouts.renew()
    assert process.memory_info().rss - before < 6 * layouts.bytes
    memory = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory._replace(available=2**24))
    assert layouts.why_in_place() == "too large to copy: 0.0 GiB of inputs, 0.0 GiB free"


def test_without_tensors_there_is_one_layout():
    layouts = Layouts(Call(sum, ([1, 2],), {}))
    assert layouts.devices == ()
    assert layouts.why_in_place() == "no tensors among its inputs"


def test_devices_are_those_of_the_tensors():
    assert Layouts(Call(torch.neg, (torch.ones(1),), {})).devices == ("cpu",)
    assert Layouts(Call(torch.neg, (torch.ones(1, device="meta"),), {})).devices == ("meta",)


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
