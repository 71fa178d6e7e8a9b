import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.ground.errors import UsageError
from gnnbench.suite.graphs.catalog import DATASETS, DatasetName

parse = DatasetName.parse


def test_an_id_reads_back_as_itself(tmp_path):
    others = (
        *("cora:synthetic", "ogbn-mag-hetero:synthetic@0.1", "rmat:14", "hub:14", "molecules:10"),
        *("uniform:14", "uniform:4@16", "rmat:14@0.5", "hub:14@2.5"),
    )
    for name in (*DATASETS, *others):
        assert parse(name).id == name
    for whole in ("cora:synthetic@1", "cora:synthetic@1.0"):
        assert parse(whole) == parse("cora:synthetic")
    for whole in ("rmat:14@16", "rmat:14@16.0", "rmat:014@1.6e1"):
        assert parse(whole) == parse("rmat:14")
    assert parse("uniform:12@8") == parse("uniform:12")
    assert parse("hub:12@4.0").id == "hub:12@4"
    (tmp_path / "a.mtx").touch()
    assert parse(str(tmp_path / "a.mtx")).id == "a.mtx"


@given(st.floats(0.2, 1))
def test_a_fraction_survives_its_id(fraction):
    name = parse(f"cora:synthetic@{fraction}")
    assert parse(name.id) == name
    assert name.nodes == round(2708 * fraction)


def test_counts_are_the_published_ones():
    assert (parse("cora").nodes, parse("cora").pairs) == (2708, 5278)
    part = parse("ogbn-arxiv:synthetic@0.1")
    assert (part.nodes, part.pairs, part.dataset.features, part.dataset.classes) == (16934, 116624, 128, 40)
    assert (parse("rmat:4").nodes, parse("rmat:4").pairs) == (16, 256)
    assert (parse("hub:6").nodes, parse("hub:6").pairs) == (64, 512)
    assert [parse(f"rmat:4{edges}").pairs for edges in ("@2", "@0.5", "@0.01")] == [32, 8, 0]
    assert [parse(f"uniform:5{edges}").pairs for edges in ("", "@4", "@1023")] == [256, 128, 32_736]
    zinc = parse("molecules:10")
    assert (zinc.dataset.graphs, zinc.nodes, zinc.pairs) == (1024, 23_716, 25_498)
    assert parse("cora").dataset.graphs == parse("rmat:4").dataset.graphs == 0
    assert [parse(name).dataset.hidden for name in ("cora", "aifb", "ogbn-arxiv")] == [256, 16, 128]


def test_counts_of_types_add_up_to_the_published_ones():
    aifb, mag = parse("aifb"), parse("ogbn-mag-hetero")
    assert (aifb.nodes, aifb.pairs, len(aifb.relations), aifb.split) == (8285, 29_043, 90, (140, 0, 36))
    assert (mag.nodes, mag.pairs, len(mag.relations)) == (1_939_743, 21_111_007, 7)
    part = parse("ogbn-mag-hetero:synthetic@0.01")
    assert part.type_sizes == {"paper": 7364, "author": 11_346, "institution": 87, "field_of_study": 600}
    assert sum(part.type_sizes.values()) == part.nodes
    assert [sum(block.values()) for block in part.blocks.values()] == [10_440, 71_457, 54_163, 75_051]


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("did you mean cora?", ["coar"]),
        ("did you mean ogbn-arxiv", ["ogbn-arxv:synthetic"]),
        ("unknown dataset", ["cora@0.5"]),
        ("above 0 and at most 1", [f"cora:synthetic@{part}" for part in ("0", "1.5", "nan", "", "half")]),
        ("give a larger fraction", ["ogbn-mag-hetero:synthetic@0.0003", "aifb:synthetic@0.02"]),
        ("from 6 to 30", ["hub:5", "hub", "hub:5@2"]),
        ("64 nodes are too few for ", ["hub:6@30", "hub:6@1000"]),
        (
            "must be the number of edges per node, above 0 and at most 1023, such as rmat:14@4",
            [f"{family}:8@{one}" for family in ("rmat", "uniform", "hub") for one in ("0", "-1", "nan")]
            + [f"rmat:8@{one}" for one in ("", "x", "1024", "inf", "4@4", "1e400")],
        ),
        ("from 4 to 17, such as molecules:14 for 2**14 molecules", ["molecules:18"]),
        ("from 4 to 30", ["rmat:3", "rmat:x", "rmat:", "rmat", "uniform:3", "uniform:31@2", "rmat:@2"]),
        ("nowhere/x.mtx: there is no such file", ["nowhere/x.mtx"]),
    ],
)
def test_a_bad_id_is_one_line(message, texts):
    for text in texts:
        with pytest.raises(UsageError, match=re.escape(message)):
            parse(text)
