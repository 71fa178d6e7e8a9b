import pytest
import torch
from torch.autograd import DeviceType
from torch.autograd.profiler_util import EventList, FunctionEvent
from torch_geometric.nn import GCNConv

from gnnbench.profile import operators
from tests.profile.subjects import NODES, edge_index, subject_of, widest

WIDTH = 64


def test_rows_have_shapes_memory_and_flops(tmp_path):
    conv, x, structure = GCNConv(WIDTH, WIDTH), torch.randn(NODES, WIDTH), edge_index()
    section = operators.take(subject_of(lambda: conv(x, structure).sum().backward(), "cpu", 2), tmp_path)
    (product,) = [
        row
        for row in section["rows"]
        if row["name"] == "aten::mm" and row["shapes"] == [[NODES, WIDTH], [WIDTH, WIDTH]]
    ]
    assert product["calls"] == 2
    assert product["flops"] == 2 * (2 * NODES * WIDTH * WIDTH)
    assert product["self_bytes"] == 2 * (4 * NODES * WIDTH)
    assert 0 < product["self_cpu_ns"] <= product["cpu_ns"]
    assert product["self_device_ns"] == product["device_ns"] == 0
    own = [row["self_cpu_ns"] for row in section["rows"]]
    assert own == sorted(own, reverse=True)
    assert "aten::mm 2708×64 64×64" in operators.table(section)
    saved = (tmp_path / operators.FILE).read_text()
    assert "[[2708, 64], [64, 64]]" in saved
    assert "Self CPU time total" in saved


def test_a_count_that_is_no_whole_number_is_short():
    row = {
        "name": "aten::mm",
        "shapes": [[10_000, 10_000]] * 3,
        "self_cpu_ns": 10**9,
        "self_device_ns": 0,
        "self_bytes": -(2**39),
        "flops": 10**12,
    }
    rows = [{**row, "calls": calls} for calls in (4, 700, 8641)]
    table = operators.table({"rows": rows, "cold_ns": 1, "repeats": 7})
    assert widest(table) <= 80
    assert [line[38:44].split() for line in table.splitlines()[1:4]] == [["0.571"], ["100"], ["1234"]]
    assert table.count(" -73.1 GiB ") == 3


def test_a_kernel_s_time_is_its_operator_s_and_counted_once():
    """Kernels are events too, linked to the operator that launched them."""
    both = {"use_device": "cuda", "stack": [], "input_shapes": []}
    operator, kernel = (
        FunctionEvent(id=number, name=name, thread=number, start_us=5, end_us=25, device_type=device, **both)
        for number, (name, device) in enumerate((("aten::mm", DeviceType.CPU), ("sgemm", DeviceType.CUDA)))
    )
    operator.append_kernel("sgemm", 0, 20)
    events = EventList([operator, kernel], use_device="cuda")
    events._build_tree()
    averages = filter(operators._is_operator, events.key_averages())
    rows = [operators._row(average, on_gpu=True) for average in averages]
    assert [(row["name"], row["self_device_ns"]) for row in rows] == [("aten::mm", 20_000)]


@pytest.mark.cuda
def test_on_a_gpu_times_are_the_kernels(tmp_path):
    x = torch.randn(1024, 1024, device="cuda")
    section = operators.take(subject_of(lambda: x @ x + 1, "cuda", 2), tmp_path)
    busy = {row["name"] for row in section["rows"] if row["self_device_ns"]}
    assert "aten::mm" in busy
    assert all(name.startswith("aten::") for name in busy)
