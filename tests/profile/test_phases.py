import statistics

import pytest

from gnnbench.profile import phases, tree
from gnnbench.workloads import platforms
from tests.profile.subjects import epoch, widest


@pytest.mark.parametrize("platform", platforms.PLATFORMS)
def test_phases_of_cora_sum_to_the_epoch(make_case, cora, tmp_path, platform):
    section = phases.take(epoch(make_case("epoch", platform, "train", hidden=256, graph=cora), 3), tmp_path)
    paths = [tuple(row["path"]) for row in section["rows"]]
    assert paths == [
        ("call",),
        *(("call", name) for name in ("zero_grad", "forward", "loss", "backward", "optimizer.step")),
    ]
    root = section["rows"][0]
    for repeat in range(3):
        assert sum(row["self_ns"][repeat] for row in section["rows"]) == root["total_ns"][repeat]
    assert [row["calls"] for row in section["rows"]] == [[1] * 3] * 6
    assert len(section["plain_ns"]) == 3
    assert section["missing"] == []
    assert section["nvtx"] is False
    assert list(tmp_path.iterdir()) == []


def a_section(**changes):
    """Four repeats of a call with two parts, in milliseconds."""

    def row(*path, calls, cold, total, own):
        times = {
            "total_ns": [round(1e6 * value) for value in total],
            "self_ns": [round(1e6 * v) for v in own],
        }
        return {"path": list(path), "calls": [calls] * 4, "cold_ns": round(1e6 * cold), **times}

    rows = [
        row("call", calls=1, cold=30, total=[10, 10, 10, 10], own=[1, 1, 1, 1]),
        row("call", "forward", calls=1, cold=25, total=[6, 6, 6, 6], own=[2, 2, 2, 2]),
        row("call", "forward", "GCNConv", calls=2, cold=20, total=[4, 4, 4, 4], own=[4, 4, 4, 4]),
        row("call", "forward", "x" * 40, calls=0, cold=2, total=[0, 0, 0, 0], own=[0, 0, 0, 0]),
        row("call", "backward", calls=1, cold=4, total=[2, 3, 3, 4], own=[2, 3, 3, 4]),
    ]
    plain = [8_000_000, 8_000_000, 8_000_000, 8_000_000]
    return {"rows": rows, "plain_ns": plain, "missing": [], "nvtx": False, **changes}


def test_the_table_is_in_the_seed_notes_shape_and_sums_to_the_whole():
    lines = phases.table(a_section()).splitlines()
    assert [line.split() for line in lines[:8]] == [
        ["Event", "Count", "Average", "time", "IQR", "Frac.", "Self", "First"],
        ["forward", "4", "6.00", "ms", "0.0%", "60%", "20%", "25.0", "ms"],
        ["GCNConv", "8", "2.00", "ms", "0.0%", "40%", "40%", "20.0", "ms"],
        ["x" * 27 + "…", "0", "0.0%", "0.0%", "2.00", "ms"],
        ["backward", "4", "3.00", "ms", "17%", "30%", "30%", "4.00", "ms"],
        ["the", "rest", "4", "1.00", "ms", "0.0%", "10%", "10%"],
        ["the", "whole", "4", "10.0", "ms", "0.0%", "100%", "100%", "30.0", "ms"],
        lines[7].split(),
    ]
    assert "A call took 1.250 times as long with ranges as without (8.00 ms; medians of 4)." in lines
    assert tree.overhead(a_section()) == 1.25


def test_what_was_not_found_is_below_the_table():
    line = "torch_geometric 9.9 has no gcn_norm in torch_geometric.nn.conv.gcn_conv: gcn_norm is not shown"
    text = phases.table(a_section(missing=[line]))
    assert line in " ".join(text.splitlines())
    assert widest(text) <= 80


def test_a_table_of_one_repeat_has_no_spread():
    section = a_section()
    for row in section["rows"]:
        for of_each in ("calls", "total_ns", "self_ns"):
            row[of_each] = row[of_each][:1]
    assert "the whole" in phases.table({**section, "plain_ns": section["plain_ns"][:1]})


def test_a_call_that_is_slower_when_cold_keeps_that_apart(make_case, tmp_path):
    subject = epoch(make_case("epoch", "pyg", "train"))
    section = phases.take(subject, tmp_path)
    for row in section["rows"]:
        assert row["cold_ns"] > 0
        assert len(row["total_ns"]) == subject.repeats
    assert statistics.median(section["plain_ns"]) > 0
