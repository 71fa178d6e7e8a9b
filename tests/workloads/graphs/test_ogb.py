"""ogb's own loader on small data sets in the two layouts OGB publishes, written here."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs import ogb
from gnnbench.workloads.graphs.catalog import DATASETS
from gnnbench.workloads.graphs.locate import is_here, under_data_root

NODES = 30


def _table(path: Path, values: np.ndarray, header: bool | list[str] = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(values).to_csv(path, index=False, header=header, compression="gzip")


def _edges() -> np.ndarray:
    return np.stack((np.arange(NODES - 1), np.arange(1, NODES)), axis=1)


def _split(folder: Path) -> None:
    for part, ids in zip(("train", "valid", "test"), np.split(np.arange(NODES), [20, 25]), strict=True):
        _table(folder / f"{part}.csv.gz", ids)


def _features() -> np.ndarray:
    return np.arange(NODES * 4, dtype=np.float32).reshape(NODES, 4) / 8


def _folder(root: Path, name: str, version: int = 1) -> Path:
    folder = root / "ogb" / name
    folder.mkdir(parents=True)
    (folder / f"RELEASE_v{version}.txt").touch()
    return folder


def _arxiv(root: Path, version: int = 1) -> Path:
    folder = _folder(root, "ogbn_arxiv", version)
    _table(folder / "raw/edge.csv.gz", _edges())
    _table(folder / "raw/num-node-list.csv.gz", np.array([NODES]))
    _table(folder / "raw/num-edge-list.csv.gz", np.array([NODES - 1]))
    _table(folder / "raw/node-feat.csv.gz", _features())
    _table(folder / "raw/node_year.csv.gz", np.full(NODES, 2015))
    _table(folder / "raw/node-label.csv.gz", np.arange(NODES) % 40)
    _split(folder / "split/time")
    return folder


def _listing(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*"))


def test_reads_a_csv_data_set_and_leaves_the_data_root_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arxiv = DATASETS["ogbn-arxiv"]
    root, cache = tmp_path / "root", tmp_path / "cache"
    before = _listing(_arxiv(root))
    assert is_here(arxiv, root, cache)
    first = ogb.read(arxiv, under_data_root(arxiv, root), cache)
    again = ogb.read(arxiv, under_data_root(arxiv, root), cache)
    assert (first.num_nodes, first.num_edges, first.num_classes) == (NODES, 2 * (NODES - 1), 40)
    np.testing.assert_array_equal(first.x.numpy(), _features())
    assert first.y.tolist() == list(range(NODES))
    assert first.train_mask.sum() == 20
    assert first.content_hash == again.content_hash
    assert _listing(root / "ogb/ogbn_arxiv") == before
    assert capfd.readouterr() == ("", "")


def test_an_older_release_under_the_data_root_is_used_without_a_question(tmp_path: Path) -> None:
    arxiv = DATASETS["ogbn-arxiv"]
    _arxiv(tmp_path, version=0)
    assert ogb.read(arxiv, under_data_root(arxiv, tmp_path), tmp_path / "cache").num_nodes == NODES


def test_changed_files_are_processed_anew(tmp_path: Path) -> None:
    arxiv = DATASETS["ogbn-arxiv"]
    folder, cache = _arxiv(tmp_path), tmp_path / "cache"
    ogb.read(arxiv, folder, cache)
    _table(folder / "raw/node-label.csv.gz", np.full(NODES, 39))
    assert set(ogb.read(arxiv, folder, cache).y.tolist()) == {39}


def test_proteins_get_the_mean_of_their_edges_and_many_labels(tmp_path: Path) -> None:
    proteins = DATASETS["ogbn-proteins"]
    folder = _folder(tmp_path, "ogbn_proteins")
    _table(folder / "raw/edge.csv.gz", _edges())
    _table(folder / "raw/edge-feat.csv.gz", np.repeat(np.arange(NODES - 1.0)[:, None], 8, axis=1))
    _table(folder / "raw/num-node-list.csv.gz", np.array([NODES]))
    _table(folder / "raw/num-edge-list.csv.gz", np.array([NODES - 1]))
    _table(folder / "raw/species.csv.gz", np.zeros(NODES, dtype=int))
    _table(folder / "raw/node-label.csv.gz", np.arange(NODES * 112).reshape(NODES, 112) % 2)
    _split(folder / "split/species")
    graph = ogb.read(proteins, under_data_root(proteins, tmp_path), tmp_path / "cache")
    assert graph.num_edges == 2 * (NODES - 1)
    assert graph.x[:, 7].tolist() == [0.0, *(i + 0.5 for i in range(NODES - 2)), NODES - 2.0]
    assert (graph.y.dtype, tuple(graph.y.shape)) == (torch.float32, (NODES, 112))
    assert (folder / "raw/species.csv.gz").exists()


_MAG = {
    ("author", "affiliated_with", "institution"): np.array([[0, 1], [4, 1]]),
    ("author", "writes", "paper"): np.array([[4, 29], [0, 3]]),
    ("paper", "cites", "paper"): _edges(),
    ("paper", "has_topic", "field_of_study"): np.array([[7, 2], [8, 0], [7, 2]]),
}
_MAG_NODES = {"author": 5, "field_of_study": 3, "institution": 2, "paper": NODES}


def _mag(root: Path) -> Path:
    folder = _folder(root, "ogbn_mag", version=2)
    raw, split = folder / "raw", folder / "split/time"
    _table(raw / "triplet-type-list.csv.gz", np.array(list(_MAG)))
    pd.DataFrame({name: [count] for name, count in _MAG_NODES.items()}).to_csv(
        raw / "num-node-dict.csv.gz", index=False
    )
    for triplet, edges in _MAG.items():
        relation = raw / "relations" / "___".join(triplet)
        _table(relation / "edge.csv.gz", edges)
        _table(relation / "num-edge-list.csv.gz", np.array([len(edges)]))
        _table(relation / "edge_reltype.csv.gz", np.zeros((len(edges), 1), dtype=int))
    _table(raw / "node-feat/paper/node-feat.csv.gz", _features())
    _table(raw / "node-feat/paper/node_year.csv.gz", np.full(NODES, 2015))
    _table(raw / "node-label/paper/node-label.csv.gz", np.arange(NODES))
    _split(split / "paper")
    has = pd.DataFrame({name: [name == "paper"] for name in _MAG_NODES})
    for file in (raw / "nodetype-has-feat", raw / "nodetype-has-label", split / "nodetype-has-split"):
        has.to_csv(file.with_suffix(".csv.gz"), index=False)
    return folder


def test_of_mag_papers_that_cite_papers_are_taken(tmp_path: Path) -> None:
    mag = DATASETS["ogbn-mag"]
    _mag(tmp_path)
    graph = ogb.read(mag, under_data_root(mag, tmp_path), tmp_path / "cache")
    assert (graph.num_nodes, graph.num_edges, graph.num_classes) == (NODES, 2 * (NODES - 1), 349)
    assert graph.test_mask.sum() == 5
    assert graph.edge_type is None


def test_of_heterogeneous_mag_all_types_are_taken(tmp_path: Path) -> None:
    mag = DATASETS["ogbn-mag-hetero"]
    _mag(tmp_path)
    graph = ogb.read(mag, under_data_root(mag, tmp_path), tmp_path / "cache")
    assert graph.type_sizes == {"paper": NODES, "author": 5, "institution": 2, "field_of_study": 3}
    assert (graph.name, graph.synthetic, graph.num_classes) == ("ogbn-mag-hetero", False, 349)
    first = {"paper": 0, "author": 30, "institution": 35, "field_of_study": 37}
    expected = set()
    for (head, name, tail), edges in _MAG.items():
        for source, target in edges.tolist():
            ends = source + first[head], target + first[tail]
            expected |= {(name, *ends), (name if head == tail else f"rev_{name}", *reversed(ends))}
    names = [graph.relations[position].name for position in graph.edge_type]
    assert set(zip(names, *graph.edge_index.tolist(), strict=True)) == expected
    assert graph.num_edges == len(expected)
    np.testing.assert_array_equal(graph.x[:NODES].numpy(), _features())
    assert graph.x[NODES:].abs().sum(1).min() > 0
    assert graph.y.tolist() == [*range(NODES), *[0] * 10]
    masks = torch.stack((graph.train_mask, graph.val_mask, graph.test_mask))
    assert masks[:, :NODES].sum(1).tolist() == [20, 5, 5]
    assert not masks[:, NODES:].any()


def test_both_mags_are_read_from_one_folder(tmp_path: Path) -> None:
    assert not is_here(DATASETS["ogbn-mag-hetero"], tmp_path, tmp_path / "cache")
    folder = _mag(tmp_path)
    for name in ("ogbn-mag", "ogbn-mag-hetero"):
        assert under_data_root(DATASETS[name], tmp_path) == folder
        ogb.read(DATASETS[name], folder, tmp_path / "cache")
    assert len(list((tmp_path / "cache").rglob("data_processed"))) == 1


@pytest.mark.parametrize("end", [-1, 2])
def test_a_node_that_its_type_does_not_have_is_one_line(tmp_path: Path, end: int) -> None:
    folder = _mag(tmp_path)
    relation = folder / "raw/relations/author___affiliated_with___institution"
    _table(relation / "edge.csv.gz", np.array([[0, end], [4, 1]]))
    with pytest.raises(UsageError, match="'affiliated_with' has a node that is not there") as caught:
        ogb.read(DATASETS["ogbn-mag-hetero"], folder, tmp_path / "cache")
    assert "\n" not in str(caught.value)


def test_reads_a_binary_data_set_that_ogb_itself_saved(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from ogb.io import DatasetSaver

    saver = DatasetSaver("ogbn-papers100M", is_hetero=False, version=1, root=str(tmp_path / "saved"))
    saver.save_graph_list([{"edge_index": _edges().T, "num_nodes": NODES, "node_feat": _features()}])
    labels = np.arange(NODES, dtype=np.float32)[:, None]
    labels[3] = np.nan  # as ogbn-papers100M marks papers without a class
    saver.save_target_labels(labels)
    train, valid, test = np.split(np.arange(NODES), [20, 25])
    saver.save_split({"train": train, "valid": valid, "test": test}, split_name="time")
    mapping = tmp_path / "mapping"
    mapping.mkdir()
    (mapping / "README.md").touch()
    saver.copy_mapping_dir(str(mapping))
    saver.save_task_info(task_type="multiclass classification", eval_metric="acc", num_classes=172)
    meta = saver.get_meta_dict()
    capfd.readouterr()
    for _ in range(2):  # processed, then from its cache
        graph = ogb.read(DATASETS["ogbn-papers100M"], Path(meta["dir_path"]), tmp_path / "cache", meta)
        assert graph.num_edges == 2 * (NODES - 1)
        assert graph.y.tolist() == [0 if i == 3 else i for i in range(NODES)]
        assert graph.val_mask.nonzero().view(-1).tolist() == valid.tolist()
    assert capfd.readouterr() == ("", "")


def test_a_broken_file_is_one_line(tmp_path: Path) -> None:
    folder = _arxiv(tmp_path)
    (folder / "raw/edge.csv.gz").write_bytes(b"not gzip")
    with pytest.raises(
        UsageError, match=r"ogbn-arxiv: the files in .* cannot be read \(.*\); replace them"
    ) as caught:
        ogb.read(DATASETS["ogbn-arxiv"], folder, tmp_path / "cache")
    assert "\n" not in str(caught.value)


def test_asks_no_package_index_and_does_not_import_dgl(tmp_path: Path) -> None:
    ogb.read(DATASETS["ogbn-arxiv"], _arxiv(tmp_path), tmp_path / "cache")
    assert sys.modules["ogb.version"].check_outdated is None
    assert "outdated" not in sys.modules


def test_a_pickle_of_anything_but_arrays_is_refused(tmp_path: Path) -> None:
    folder = _arxiv(tmp_path)
    torch.save({"train": Path.unlink}, folder / "split/time/split_dict.pt")
    with pytest.raises(UsageError, match="is not part of an array"):
        ogb.read(DATASETS["ogbn-arxiv"], folder, tmp_path / "cache")


def test_a_program_in_the_place_of_the_split_is_one_line(tmp_path: Path) -> None:
    folder = _arxiv(tmp_path)
    torch.jit.save(torch.jit.script(torch.nn.Identity()), folder / "split/time/split_dict.pt")
    with pytest.raises(UsageError, match=r"split_dict\.pt is TorchScript, not arrays\); replace them"):
        ogb.read(DATASETS["ogbn-arxiv"], folder, tmp_path / "cache")


@pytest.mark.parametrize("split", [{}, [1], {"train": 1, "valid": 2}, {"train": None}])
def test_a_split_of_another_form_is_one_line(tmp_path: Path, split: object) -> None:
    folder = _arxiv(tmp_path)
    torch.save(split, folder / "split/time/split_dict.pt", pickle_protocol=4)
    with pytest.raises(UsageError, match=r"ogbn-arxiv: the files in .* cannot be read"):
        ogb.read(DATASETS["ogbn-arxiv"], folder, tmp_path / "cache")
