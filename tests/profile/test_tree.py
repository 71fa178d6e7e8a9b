import itertools
import sys
import types

import pytest
import torch

from gnnbench.engine.profile import kinds
from gnnbench.suite import platforms
from tests.profile.subjects import epoch, subject_of, table, widest


def ticking(call, targets, repeats):
    """Measure by a clock that goes on by 1 whenever it is read."""
    return kinds.measure(subject_of(call, "cpu", repeats), targets, itertools.count().__next__)


def paths(section):
    return [tuple(row["path"][1:]) for row in section["rows"]]


def test_phases_sum_to_the_epoch_and_the_first_call_is_apart(make_case, tmp_path):
    section = kinds.phases(epoch(make_case("epoch", "pyg", "train"), 3), tmp_path)
    assert paths(section) == [(), ("zero_grad",), ("forward",), ("loss",), ("backward",), ("optimizer.step",)]
    for repeat in range(3):
        own_ns = sum(row["self_ns"][repeat] for row in section["rows"])
        assert own_ns == section["rows"][0]["total_ns"][repeat]
    assert [row["calls"] for row in section["rows"]] == [(1,) * 3] * 6
    assert all(row["cold_ns"] > 0 for row in section["rows"])
    assert section["nvtx"] is False
    assert list(tmp_path.iterdir()) == []


def conv(make_case, *, cached):
    case = make_case("conv", "pyg")
    layer = platforms.load("pyg").layer(*case.weights(8, 8), cached=cached)
    structure, x = case.edge_index(), case.features()
    return subject_of(lambda: layer(x, structure), "cpu", 3)


def test_what_is_cached_is_in_the_first_call_only(make_case, tmp_path):
    recomputed, cached = (kinds.layers(conv(make_case, cached=cached), tmp_path) for cached in (False, True))
    assert set(paths(cached)) == set(paths(recomputed))
    for found, calls in ((recomputed, 1), (cached, 0)):
        (norm,) = [row for row in found["rows"] if row["path"][-1] == "gcn_norm"]
        assert norm["calls"] == (calls,) * 3
        assert norm["cold_ns"] > 0
        assert all((total > 0) == (calls > 0) for total in norm["total_ns"])
    assert "gcn_norm" in table("layers", cached)


def test_ranges_are_those_of_the_layers_and_say_what_nvtx_needs(make_case, tmp_path):
    subject = conv(make_case, cached=False)
    section = kinds.ranges(subject, tmp_path)
    assert paths(section) == paths(kinds.layers(subject, tmp_path))
    text = table("ranges", section)
    assert "    x·W " in text
    assert "NVTX ranges need a GPU (--device cuda)" in text
    assert "nsys profile" in table("ranges", {**section, "nvtx": True})


@pytest.mark.cuda
def test_layers_on_a_gpu(tmp_path):
    model = torch.nn.Linear(64, 64, device="cuda")
    x = torch.ones(64, 64, device="cuda")
    subject = subject_of(lambda: model(x).sum().backward(), "cuda", 2)
    for kind in (kinds.layers, kinds.ranges):
        section = kind(subject, tmp_path)
        assert section["nvtx"] is True
        assert paths(section) == [(), ("forward",), ("forward", "x·W"), ("backward",)]


def test_what_the_first_call_imports_is_found_from_then_on_and_calls_are_those_of_each_repeat(monkeypatch):
    library, numbers = types.ModuleType("a_library"), itertools.count()
    library.late = library.rare = lambda: None

    def call():
        monkeypatch.setitem(sys.modules, library.__name__, library)
        library.late()
        if next(numbers) % 2:
            library.rare()

    targets = {f"a_library:{name}": name for name in ("late", "rare")}
    _, late, rare = ticking(call, targets, 4)["rows"]
    assert (late["path"], late["calls"], late["cold_ns"]) == (("call", "late"), (1, 1, 1, 1), 0)
    assert rare["calls"] == (1, 0, 1, 0)  # of the calls 1 to 4


def row(*path, calls, cold, total, own):
    times = {"total_ns": [round(1e6 * one) for one in total], "self_ns": [round(1e6 * one) for one in own]}
    return {"path": ["call", *path], "calls": calls, "cold_ns": round(1e6 * cold), **times}


def test_the_table_sums_to_the_whole_and_averages_over_the_calls_there_were():
    rows = [
        row(calls=[1] * 4, cold=30, total=[10] * 4, own=[1] * 4),
        row("forward", calls=[1] * 4, cold=25, total=[6] * 4, own=[2] * 4),
        row("forward", "GCNConv", calls=[2] * 4, cold=20, total=[4] * 4, own=[4] * 4),
        row("forward", "x" * 40, calls=[0] * 4, cold=2, total=[0] * 4, own=[0] * 4),
        row("loss", calls=[0, 2, 0, 0], cold=1, total=[0, 2, 0, 0], own=[0, 2, 0, 0]),
        row("backward", calls=[1] * 4, cold=4, total=[2, 3, 3, 4], own=[2, 3, 3, 4]),
    ]
    section = {"rows": rows, "nvtx": False}
    text = table("phases", section)
    lines = text.splitlines()
    assert [line.split() for line in lines[1:10]] == [
        ["Event", "Count", "Average", "time", "IQR", "Frac.", "Self", "First"],
        ["forward", "4", "6.00", "ms", "0.0%", "60%", "20%", "25.0", "ms"],
        ["GCNConv", "8", "2.00", "ms", "0.0%", "40%", "40%", "20.0", "ms"],
        ["x" * 35, "0", "0.0%", "0.0%", "2.00", "ms"],
        ["x" * 5],
        ["loss", "2", "1.00", "ms", "0.0%", "5.0%", "5.0%", "1.00", "ms"],
        ["backward", "4", "3.00", "ms", "17%", "30%", "30%", "4.00", "ms"],
        ["the", "rest", "4", "1.00", "ms", "0.0%", "10%", "10%"],
        ["the", "whole", "4", "10.0", "ms", "0.0%", "100%", "100%", "30.0", "ms"],
    ]
    assert widest(text) <= 80
    for one in rows:
        for of_each in ("calls", "total_ns", "self_ns"):
            one[of_each] = one[of_each][:1]
    assert table("phases", section).splitlines()[2].split()[4] == "0.0%", "one repeat has no spread"
