from pathlib import Path

import pytest

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs import matrix_market


def _write(folder: Path, text: str) -> Path:
    path = folder / "g.mtx"
    path.write_text(f"%%MatrixMarket matrix {text}")
    return path


def test_condmat_is_read_whole(condmat: Path) -> None:
    graph = matrix_market.read(condmat)
    assert (graph.name, graph.synthetic) == ("ca-CondMat.mtx", False)
    assert (graph.num_nodes, graph.num_edges) == (23_133, 186_878)
    assert (graph.num_features, graph.num_classes) == (128, 16)
    assert graph.content_hash == "d2f151d48f03d22d"


@pytest.mark.parametrize(
    "text",
    [
        "coordinate pattern symmetric\n3 3 3\n2 1\n3 2\n3 3\n",
        "coordinate real general\n3 3 4\n1 2 .5\n2 1 2e3\n2 3 1\n2 3 1\n",
        "coordinate integer general\n% a comment\n3 3 2\n1 2 7\n3 2 -1\n",
    ],
)
def test_edges_lose_direction_values_loops_and_repetitions(tmp_path: Path, text: str) -> None:
    graph = matrix_market.read(_write(tmp_path, text))
    assert graph.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]


def test_what_is_made_up_is_the_same_again(tmp_path: Path) -> None:
    path = _write(tmp_path, "coordinate pattern symmetric\n9 9 1\n2 1\n")
    assert matrix_market.read(path).content_hash == matrix_market.read(path).content_hash


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("coordinate pattern symmetric\n3 3 3\n2 1\n", "not a readable Matrix Market file"),
        ("coordinate pattern general\n3 3 1\n2 4\n", "not a readable Matrix Market file"),
        ("coordinate pattern general\n3 3 1\nx y\n", "not a readable Matrix Market file"),
        ("coordinate pattern general\n3 3\n", "not a readable Matrix Market file"),
        ("coordinate pattern general\n99999999999999999999 3 1\n1 1\n", "not a readable Matrix Market file"),
        ("nonsense\n", "not a readable Matrix Market file"),
        ("coordinate pattern general\n3 4 1\n2 1\n", "the matrix is 3 by 4"),
        ("coordinate pattern general\n0 0 0\n", "the matrix is 0 by 0"),
        ("coordinate complex general\n3 3 1\n2 1 1 0\n", "the matrix is 'complex'"),
        ("array real general\n1 1\n2\n", "the matrix is dense"),
    ],
)
def test_a_bad_file_is_one_line_with_its_name(tmp_path: Path, text: str, message: str) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        matrix_market.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "empty.mtx"
    path.touch()
    with pytest.raises(UsageError, match="not a readable"):
        matrix_market.read(path)
