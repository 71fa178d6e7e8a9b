import pstats

from gnnbench.engine.profile import kinds
from tests.profile.subjects import epoch, table, widest


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
