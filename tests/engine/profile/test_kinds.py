import itertools
import json
import pstats
import re
import sys
import types

import pytest
import torch

from gnnbench.engine.measure.benchmark_fixture import Pedantic
from gnnbench.engine.profile import KINDS, kinds
from gnnbench.engine.profile.kinds import Subject
from gnnbench.suite import platforms
from tests.engine.profile.subjects import epoch, subject_of, table, widest

ON_CPU = [name for name in KINDS if name != "kernels"]


@pytest.mark.parametrize("name", ON_CPU)
def test_what_makes_a_call_ready_is_in_no_profile_and_each_table_fits_a_terminal(tmp_path, name):
    layer, x = torch.nn.Linear(8, 8), torch.ones(16, 8)
    ready_for = []

    def preparation():
        x.cumsum(0).tan()

    def ready():
        assert not ready_for
        preparation()
        ready_for.append("a call")

    def done():
        assert not ready_for
        preparation()

    def call():
        ready_for.pop()
        return layer(x).sum().backward()

    subject = Subject(Pedantic(call, (), {}, ready, done), "cpu", 2)
    sections, unavailable = kinds.profile([name], subject, tmp_path)
    assert (list(sections), unavailable) == ([name, "counts"], {})
    text = json.dumps(sections, allow_nan=False)
    assert [word for word in ("preparation", "cumsum", "tan") if f'{word}"' in text] == []
    assert widest(table(name, json.loads(text)[name])) <= 80


def test_a_kind_calls_once_before_its_repeats_and_the_counts_come_last(tmp_path):
    calls = []
    subject = subject_of(lambda: calls.append(0), "cpu", 3)
    sections, unavailable = kinds.profile(["kernels", "phases"], subject, tmp_path)
    assert list(sections) == ["phases", "counts"]
    assert re.fullmatch("profile kind 'kernels' needs CUDA: .+", unavailable["kernels"])
    (whole,) = sections["phases"]["rows"]
    assert len(whole["total_ns"]) == 3
    assert len(calls) == 1 + 3 + 1, "the first, with ranges, counted"
    assert kinds.profile(["kernels"], subject, tmp_path)[0] == {}


def by_name(section, name):
    (row,) = [row for row in section["rows"] if row["function"] == name]
    return row


def test_an_epoch_s_functions_in_a_table_and_in_the_file_of_pstats(make_case, tmp_path):
    section = kinds.functions(epoch(make_case("epoch", "pyg", "train")), tmp_path)
    norm = by_name(section, "gcn_norm")
    assert norm["calls"] == 3 * section["repeats"] == 3 * 2, "the first call is apart"
    assert section["cold_ns"] > 0
    assert norm["place"].startswith("torch_geometric/nn/conv/gcn_conv.py:")
    assert 0 < norm["self_ns"] < norm["cumulative_ns"] <= section["total_ns"]
    backward = by_name(section, "<method 'run_backward' of 'torch._C._EngineBase' objects>")
    assert (backward["calls"], backward["place"]) == (2, "")
    stats = pstats.Stats(str(tmp_path / kinds.FUNCTIONS)).stats
    assert {name: row[1] for (_, _, name), row in stats.items()}["gcn_norm"] == norm["calls"]
    assert len(stats) - 1 == len(section["rows"])  # and the profile's own end
    text = table("functions", section)
    assert widest(text) <= 80
    first = max(section["rows"], key=lambda row: row["cumulative_ns"])
    assert first["function"].strip("<>")[:15] in text.splitlines()[2]
    assert f"{len(section['rows']) - 25} more functions, and other orders: python -m pstats" in text


def ticking(call, targets, repeats):
    """Measure by a clock that goes on by 1 whenever it is read."""
    return kinds.measure(subject_of(call, "cpu", repeats), targets, itertools.count().__next__)


def paths(section):
    return [tuple(row["path"][1:]) for row in section["rows"]]


def test_phases_sum_to_the_epoch(make_case):
    section = kinds.time_ranges("phases", epoch(make_case("epoch", "pyg", "train"), 3))
    assert paths(section) == [(), ("zero_grad",), ("forward",), ("loss",), ("backward",), ("optimizer.step",)]
    for repeat in range(3):
        own_ns = sum(row["self_ns"][repeat] for row in section["rows"])
        assert own_ns == section["rows"][0]["total_ns"][repeat]


def conv(make_case, *, cached):
    case = make_case("conv", "pyg")
    layer = platforms.load("pyg").layer(*case.weights(8, 8), cached=cached)
    structure, x = case.edge_index(), case.features()
    return subject_of(lambda: layer(x, structure), "cpu", 3)


def test_what_is_cached_is_in_the_first_call_only(make_case):
    recomputed = kinds.time_ranges("layers", conv(make_case, cached=False))
    cached = kinds.time_ranges("layers", conv(make_case, cached=True))
    assert set(paths(cached)) == set(paths(recomputed))
    for found, calls in ((recomputed, 1), (cached, 0)):
        (norm,) = [row for row in found["rows"] if row["path"][-1] == "gcn_norm"]
        assert norm["calls"] == (calls,) * 3
        assert norm["cold_ns"] > 0
        assert all((total > 0) == (calls > 0) for total in norm["total_ns"])
    assert "gcn_norm" in table("layers", cached)


def test_ranges_are_those_of_the_layers_and_say_what_nvtx_needs(make_case):
    subject = conv(make_case, cached=False)
    section = kinds.time_ranges("ranges", subject)
    assert paths(section) == paths(kinds.time_ranges("layers", subject))
    text = table("ranges", section)
    assert "    x·W " in text
    assert "NVTX ranges need a GPU (--device cuda)" in text
    assert "nsys profile" in table("ranges", {**section, "nvtx": True})


@pytest.mark.cuda
def test_layers_on_a_gpu():
    model = torch.nn.Linear(64, 64, device="cuda")
    x = torch.ones(64, 64, device="cuda")
    subject = subject_of(lambda: model(x).sum().backward(), "cuda", 2)
    for kind in ("layers", "ranges"):
        section = kinds.time_ranges(kind, subject)
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
