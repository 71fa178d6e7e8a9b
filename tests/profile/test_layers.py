import pytest
import torch

from gnnbench.profile import kinds, layers, nvtx_ranges
from gnnbench.profile.subject import Subject
from gnnbench.workloads import platforms
from tests.profile.subjects import widest


def paths(section):
    return [tuple(row["path"][1:]) for row in section["rows"]]


def conv(make_case, *, cached):
    case = make_case("conv", "pyg")
    module = platforms.load("pyg")
    layer = module.layer(*case.weights(8, 8), cached=cached)
    structure, x = case.edge_index(), case.features()
    return Subject(lambda: layer(x, structure), "cpu", 3)


def test_what_is_cached_is_in_the_first_call_only(make_case, tmp_path):
    recomputed = layers.take(conv(make_case, cached=False), tmp_path)
    cached = layers.take(conv(make_case, cached=True), tmp_path)
    assert set(paths(cached)) == set(paths(recomputed))
    for found, calls in ((recomputed, 1), (cached, 0)):
        (norm,) = [row for row in found["rows"] if row["path"][-1] == "gcn_norm"]
        assert norm["calls"] == [calls] * 3
        assert norm["cold_ns"] > 0
        assert all((total > 0) == (calls > 0) for total in norm["total_ns"])
    assert "gcn_norm" in layers.table(cached)


def test_ranges_are_those_of_the_layers_and_say_what_nvtx_needs(make_case, tmp_path):
    subject = conv(make_case, cached=False)
    assert kinds.load("ranges") is nvtx_ranges
    section = nvtx_ranges.take(subject, tmp_path)
    assert paths(section) == paths(layers.take(subject, tmp_path))
    text = nvtx_ranges.table(section)
    assert "    x·W " in text
    assert "NVTX ranges need a GPU (--device cuda)" in text
    assert "nsys profile" in nvtx_ranges.table({**section, "nvtx": True})
    assert widest(text) <= 80


@pytest.mark.cuda
def test_layers_on_a_gpu(tmp_path):
    model = torch.nn.Linear(64, 64, device="cuda")
    x = torch.ones(64, 64, device="cuda")
    subject = Subject(lambda: model(x).sum().backward(), "cuda", 2)
    for module in (layers, nvtx_ranges):
        section = module.take(subject, tmp_path)
        assert section["nvtx"] is True
        assert paths(section) == [(), ("forward",), ("forward", "x·W"), ("backward",)]
