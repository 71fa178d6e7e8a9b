import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.suite.graphs.load import matrix_market


def write(folder, text):
    path = folder / "g.mtx"
    path.write_text(text and f"%%MatrixMarket matrix {text}")
    return path


def test_condmat_is_read_whole(data_root):
    path = data_root / "mtx/ca-CondMat.mtx"
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    graph = matrix_market(path)
    assert (graph.name, graph.synthetic) == ("ca-CondMat.mtx", False)
    assert (graph.num_nodes, graph.num_edges) == (23_133, 186_878)
    assert (graph.num_features, graph.num_classes) == (128, 16)
    assert graph.content_hash == "26128f7dce764eac", "what is made up is the same again"


@pytest.mark.parametrize(
    "text",
    [
        "coordinate pattern symmetric\n3 3 3\n2 1\n3 2\n3 3\n",
        "coordinate real general\n3 3 4\n1 2 .5\n2 1 2e3\n2 3 1\n2 3 1\n",
        "coordinate integer general\n% a comment\n3 3 2\n1 2 7\n3 2 -1\n",
    ],
)
def test_edges_lose_direction_values_loops_and_repetitions(tmp_path, text):
    graph = matrix_market(write(tmp_path, text))
    assert graph.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]


UNREADABLE = "not a readable Matrix Market file"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("coordinate pattern symmetric\n3 3 3\n2 1\n", UNREADABLE),
        ("", UNREADABLE),
        ("coordinate pattern general\n3 4 1\n2 1\n", "in the format 'coordinate', 3 by 4; a graph"),
        ("array real general\n1 1\n2\n", "in the format 'array', 1 by 1; a graph"),
    ],
)
def test_a_bad_file_is_one_line_with_its_name(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(UsageError, match=rf"^{path}: .*{message}"):
        matrix_market(path)
