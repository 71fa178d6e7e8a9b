import os
import pickle
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs.catalog import DATASETS
from gnnbench.workloads.graphs.locate import under_data_root
from gnnbench.workloads.graphs.planetoid import read

CORA = DATASETS["cora"]
NODES, TEST, FEATURES = 610, 10, 8
PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


def _listing(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*"))


def _small(root: Path) -> Path:
    """Write a ring of nodes in the files of Cora, and return their folder."""
    raw = root / "Planetoid/Cora/raw"
    raw.mkdir(parents=True)
    x = scipy.sparse.csr_matrix(np.eye(NODES, FEATURES, dtype=np.float32) + np.eye(1, FEATURES, dtype="f"))
    y = np.eye(7, dtype=np.int32)[np.arange(NODES) % 7]
    train, rest = slice(0, 20), slice(0, NODES - TEST)
    test = slice(NODES - TEST, NODES)
    graph = defaultdict(list, {node: [(node + 1) % NODES] for node in range(NODES)})
    parts = (x[train], x[test], x[rest], y[train], y[test], y[rest], graph)
    for name, part in zip(PARTS, parts, strict=False):
        (raw / f"ind.cora.{name}").write_bytes(pickle.dumps(part))
    (raw / "ind.cora.test.index").write_text("".join(f"{node}\n" for node in range(NODES - TEST, NODES)))
    return raw


class _Hostile:
    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch '{self._file}'",)


def test_a_set_that_was_pickled_lately_is_read(tmp_path: Path) -> None:
    graph = read(CORA, _small(tmp_path), tmp_path / "cache")
    assert (graph.num_nodes, graph.num_edges, graph.num_features) == (NODES, 2 * NODES, FEATURES)
    assert graph.y.tolist() == [node % 7 for node in range(NODES)]
    assert graph.x[:3].tolist() == [[1.0] + [0.0] * 7, [0.5, 0.5] + [0.0] * 6, [0.5, 0.0, 0.5] + [0.0] * 5]


@pytest.mark.parametrize("part", PARTS)
def test_no_file_can_run_code(tmp_path: Path, part: str) -> None:
    raw = _small(tmp_path)
    (raw / f"ind.cora.{part}").write_bytes(pickle.dumps(_Hostile(tmp_path / "ran"), protocol=2))
    with pytest.raises(UsageError, match=r"cora: the files in .*raw cannot be read"):
        read(CORA, raw, tmp_path / "cache")
    assert not (tmp_path / "ran").exists()


def test_cora_has_its_published_counts(
    cora_root: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # under which torch_geometric keeps quiet of itself
    before = _listing(cora_root / "Planetoid")
    graph = read(CORA, under_data_root(CORA, cora_root), tmp_path / "cache")
    assert (graph.name, graph.synthetic) == ("cora", False)
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (2708, 10556, 1433, 7)
    assert [int(m.sum()) for m in (graph.train_mask, graph.val_mask, graph.test_mask)] == [140, 500, 1000]
    assert graph.content_hash == "1ae16fb75ffb3652"
    sums = graph.x.sum(1)
    torch.testing.assert_close(sums, torch.ones(2708))
    assert graph.content_hash == read(CORA, under_data_root(CORA, cora_root), tmp_path / "cache").content_hash
    assert _listing(cora_root / "Planetoid") == before
    assert capfd.readouterr() == ("", "")


def test_a_truncated_file_is_one_line_and_does_not_stay(cora_root: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    raw = shutil.copytree(
        cora_root / "Planetoid/Cora/raw", root / "Planetoid/Cora/raw", copy_function=shutil.copyfile
    )
    raw.chmod(0o755)
    whole = (raw / "ind.cora.allx").read_bytes()
    (raw / "ind.cora.allx").write_bytes(whole[:1000])
    with pytest.raises(UsageError, match=r"cora: the files in .*raw cannot be read \(.*\)") as caught:
        read(CORA, under_data_root(CORA, root), tmp_path / "cache")
    assert "\n" not in str(caught.value)
    (raw / "ind.cora.allx").write_bytes(whole)
    assert read(CORA, under_data_root(CORA, root), tmp_path / "cache").num_nodes == 2708


def test_a_cache_that_is_no_folder_is_one_line(cora_root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        UsageError, match=r"the cache folder .*file cannot be written \(.*\); .*GNNBENCH_CACHE"
    ):
        read(CORA, under_data_root(CORA, cora_root), tmp_path / "file")
