"""AIFB's reader on a small knowledge graph in the files that torch_geometric's Entities downloads."""

import gzip

import pytest

from gnnbench.suite.graphs.catalog import DATASETS, DatasetName
from gnnbench.suite.graphs.load import load
from gnnbench.suite.graphs.locate import raw_folder

AIFB = DatasetName.parse("aifb")
TRIPLES = """\
<http://a/p1> <http://o#author> <http://a/paper> .
<http://a/p2> <http://o#author> <http://a/paper> .
# a comment

<http://a/paper> <http://o#publication> <http://a/p1> .
<http://a/paper>\t<http://o#title> "It ends with a dot ."@en .
<http://a/paper> <http://o#title> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
_:b0 <http://o#author> <http://a/paper> .
<http://a/p3> <http://o#knows> <http://a/p1> .
"""
TRAIN = "person\tid\tlabel_affiliation\nhttp://a/p1\t2.0\thttp://a/g2\nhttp://a/p2\t3.0\thttp://a/g1\n"
TEST = "person\tlabel_affiliation\tid\nhttp://a/p3\thttp://a/g2\t4\n"


@pytest.fixture
def raw(tmp_path):
    raw = tmp_path / "Entities/aifb/raw"
    raw.mkdir(parents=True)
    (raw / "aifb_stripped.nt.gz").write_bytes(gzip.compress(TRIPLES.encode()))
    (raw / "trainingSet.tsv").write_text(TRAIN)
    (raw / "testSet.tsv").write_text(TEST)
    return raw


def test_triples_become_relations_and_their_reverses(raw, tmp_path):
    assert raw_folder(DATASETS["aifb"], tmp_path) == raw
    graph = load(AIFB, tmp_path, tmp_path / "cache")
    p1, paper, p2, title, one, anonymous, p3 = range(7)
    author, title_of, knows, publication = 0, 2, 4, 6  # the most frequent first, then by name
    triples = [
        *((p1, author, paper), (p2, author, paper), (anonymous, author, paper), (p3, knows, p1)),
        *((paper, publication, p1), (paper, title_of, title), (paper, title_of, one)),
    ]
    expected = {*triples, *((target, relation + 1, source) for source, relation, target in triples)}
    source, target = graph.edge_index.tolist()
    assert set(zip(source, graph.edge_type.tolist(), target, strict=True)) == expected
    assert (graph.num_nodes, graph.num_edges, graph.num_features) == (7, len(expected), 128)
    assert [relation.name for relation in graph.relations[:3]] == ["r0", "rev_r0", "r1"]
    assert len(graph.relations) == 8
    assert [int(graph.y[person]) for person in (p1, p2, p3)] == [1, 0, 1]
    masks = (graph.train_mask, graph.val_mask, graph.test_mask)
    assert [mask.nonzero().view(-1).tolist() for mask in masks] == [[p1, p2], [], [p3]]
    assert (graph.name, graph.synthetic, graph.num_classes, graph.node_type) == ("aifb", False, 2, None)
    assert graph.content_hash == "26e3a65e6af7a94b", "numbers do not depend on the order of a set"
    (raw / "testSet.tsv").unlink()
    assert raw_folder(DATASETS["aifb"], tmp_path) is None
