from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs.catalog import DATASETS, DatasetName


def test_an_id_reads_back_as_itself() -> None:
    others = ("cora:synthetic", "ogbn-mag-hetero:synthetic@0.1", "rmat:14", "hub:14", "molecules:10")
    for name in (*DATASETS, *others):
        assert DatasetName.parse(name).id == name


@given(st.floats(0.2, 1))
def test_a_fraction_survives_its_id(fraction: float) -> None:
    name = DatasetName.parse(f"cora:synthetic@{fraction}")
    assert DatasetName.parse(name.id) == name
    assert name.nodes == round(2708 * fraction)


def test_all_of_a_twin_is_the_twin() -> None:
    for whole in ("cora:synthetic@1", "cora:synthetic@1.0"):
        assert DatasetName.parse(whole) == DatasetName.parse("cora:synthetic")


def test_counts_are_the_published_ones() -> None:
    assert (DatasetName.parse("cora").nodes, DatasetName.parse("cora").pairs) == (2708, 5278)
    part = DatasetName.parse("ogbn-arxiv:synthetic@0.1")
    assert (part.nodes, part.pairs, part.features, part.classes) == (16934, 116624, 128, 40)
    assert (DatasetName.parse("rmat:4").nodes, DatasetName.parse("rmat:4").pairs) == (16, 256)
    assert (DatasetName.parse("hub:6").nodes, DatasetName.parse("hub:6").pairs) == (64, 512)
    zinc = DatasetName.parse("molecules:10")
    assert (zinc.graphs, zinc.nodes, zinc.pairs) == (1024, 23_716, 25_498)
    assert (zinc.features, zinc.classes) == (28, 2)
    molhiv = DatasetName.parse("ogbg-molhiv:synthetic@0.1")
    assert (molhiv.graphs, molhiv.nodes, molhiv.split) == (4113, 104_874, (3290, 411, 411))
    assert DatasetName.parse("cora").graphs == DatasetName.parse("rmat:4").graphs == 0
    hidden = {name: DatasetName.parse(name).hidden for name in ("cora", "aifb", "ogbn-mag", "hub:6")}
    assert hidden == {"cora": 256, "aifb": 16, "ogbn-mag": 128, "hub:6": 128}


def test_counts_of_types_add_up_to_the_published_ones() -> None:
    aifb, mag = DatasetName.parse("aifb"), DatasetName.parse("ogbn-mag-hetero")
    assert (aifb.nodes, aifb.pairs, len(aifb.relations), aifb.split) == (8285, 29_043, 90, (140, 0, 36))
    assert (mag.nodes, mag.pairs, len(mag.relations)) == (1_939_743, 21_111_007, 7)
    part = DatasetName.parse("ogbn-mag-hetero:synthetic@0.01")
    assert part.type_sizes == {"paper": 7364, "author": 11_346, "institution": 87, "field_of_study": 600}
    assert sum(part.type_sizes.values()) == part.nodes
    assert [sum(block.values()) for block in part.blocks.values()] == [10_440, 71_457, 54_163, 75_051]


def test_the_relations_of_a_knowledge_graph_have_skewed_sizes() -> None:
    (block,) = DatasetName.parse("aifb").blocks.values()
    sizes = list(block.values())
    assert len(sizes) == 45
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sum(sizes) / 8
    assert 0 < sizes[-1] < 10


def test_splits_fit_their_nodes() -> None:
    for dataset in DATASETS.values():
        labelled = dataset.node_types[0][1] if dataset.node_types else dataset.nodes
        assert sum(dataset.split) <= labelled, dataset.name


def test_a_file_goes_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.mtx").touch()
    assert DatasetName.parse(str(tmp_path / "a.mtx")).id == "a.mtx"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("coar", "did you mean cora?"),
        ("ogbn-arxv:synthetic", "did you mean ogbn-arxiv"),
        ("cora:synthetik", "cora:synthetic@0.1"),
        ("cora@0.5", "unknown dataset"),
        ("cora:synthetic@0", "above 0 and at most 1"),
        ("cora:synthetic@1.5", "above 0 and at most 1"),
        ("cora:synthetic@nan", "above 0 and at most 1"),
        ("cora:synthetic@", "above 0 and at most 1"),
        ("cora:synthetic@half", "above 0 and at most 1"),
        ("ogbn-proteins:synthetic@0.001", "give a larger fraction"),
        ("cora:synthetic@0.0001", "give a larger fraction"),
        ("ogbn-mag-hetero:synthetic@0.0003", "give a larger fraction"),
        ("aifb:synthetic@0.02", "give a larger fraction"),
        ("hub:5", "from 6 to 30, such as hub:14"),
        ("hub", "from 6 to 30"),
        ("molecules:18", "from 4 to 17, such as molecules:14 for 2**14 molecules"),
        ("rmat:3", "from 4 to 30"),
        ("rmat:x", "from 4 to 30"),
        ("rmat:", "from 4 to 30"),
        ("rmat", "from 4 to 30"),
        ("nowhere/x.mtx", "nowhere/x.mtx: there is no such file"),
    ],
)
def test_a_bad_id_is_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        DatasetName.parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
