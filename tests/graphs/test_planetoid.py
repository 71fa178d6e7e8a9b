import shutil
from pathlib import Path

import pytest
import torch

from gnnbench.errors import UsageError
from gnnbench.graphs.catalog import DATASETS
from gnnbench.graphs.locate import under_data_root
from gnnbench.graphs.planetoid import read

CORA = DATASETS["cora"]


def _listing(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*"))


def test_cora_has_its_published_counts(
    cora_root: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # under which torch_geometric keeps quiet of itself
    before = _listing(cora_root / "Planetoid")
    graph = read(CORA, under_data_root(CORA, cora_root), tmp_path / "cache")
    assert (graph.name, graph.synthetic) == ("cora", False)
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (2708, 10556, 1433, 7)
    assert [int(m.sum()) for m in (graph.train_mask, graph.val_mask, graph.test_mask)] == [140, 500, 1000]
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
