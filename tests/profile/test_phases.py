from gnnbench.profile import phases, tree
from tests.profile.subjects import epoch, widest


def test_phases_sum_to_the_epoch_and_the_first_call_is_apart(make_case, tmp_path):
    section = phases.take(epoch(make_case("epoch", "pyg", "train"), 3), tmp_path)
    paths = [tuple(row["path"]) for row in section["rows"]]
    assert paths == [
        ("call",),
        *(("call", name) for name in ("zero_grad", "forward", "loss", "backward", "optimizer.step")),
    ]
    root = section["rows"][0]
    for repeat in range(3):
        assert sum(row["self_ns"][repeat] for row in section["rows"]) == root["total_ns"][repeat]
    assert [row["calls"] for row in section["rows"]] == [[1] * 3] * 6
    assert all(row["cold_ns"] > 0 for row in section["rows"])
    assert len(section["plain_ns"]) == 3
    assert min(section["plain_ns"]) > 0
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
    line = "torch_geometric 9.9 has no gcn_norm in torch_geometric.nn.conv.gcn_conv: gcn_norm is not shown"
    text = phases.table(a_section(missing=[line]))
    lines = text.splitlines()
    assert [line.split() for line in lines[:7]] == [
        ["Event", "Count", "Average", "time", "IQR", "Frac.", "Self", "First"],
        ["forward", "4", "6.00", "ms", "0.0%", "60%", "20%", "25.0", "ms"],
        ["GCNConv", "8", "2.00", "ms", "0.0%", "40%", "40%", "20.0", "ms"],
        ["x" * 27 + "…", "0", "0.0%", "0.0%", "2.00", "ms"],
        ["backward", "4", "3.00", "ms", "17%", "30%", "30%", "4.00", "ms"],
        ["the", "rest", "4", "1.00", "ms", "0.0%", "10%", "10%"],
        ["the", "whole", "4", "10.0", "ms", "0.0%", "100%", "100%", "30.0", "ms"],
    ]
    assert "A call took 1.250 times as long with ranges as without (8.00 ms; medians of 4)." in lines
    assert tree.overhead(a_section()) == 1.25
    assert line in " ".join(lines), "what was not found is below the table"
    assert widest(text) <= 80


def test_a_table_of_one_repeat_has_no_spread():
    section = a_section()
    for row in section["rows"]:
        for of_each in ("calls", "total_ns", "self_ns"):
            row[of_each] = row[of_each][:1]
    table = phases.table({**section, "plain_ns": section["plain_ns"][:1]})
    assert table.splitlines()[4].split()[4] == "0.0%"
