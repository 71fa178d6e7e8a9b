import pytest

from gnnbench.workloads.graphs.catalog import DATASETS
from gnnbench.workloads.graphs.locate import place
from gnnbench.workloads.graphs.workspace import link_files, workspace

CORA = DATASETS["cora"]


def test_what_a_failed_borrower_left_is_gone(tmp_path):
    with pytest.raises(KeyboardInterrupt), workspace(CORA, None, tmp_path) as folder:  # noqa: PT012
        (folder / "half").touch()
        raise KeyboardInterrupt
    assert not place(CORA, None, tmp_path)
    with workspace(CORA, None, tmp_path) as folder:
        assert not list(folder.iterdir())
        (folder / "whole").touch()
    assert place(CORA, None, tmp_path)
    with workspace(CORA, None, tmp_path) as folder:
        assert (folder / "whole").exists()


def test_changed_files_get_another_folder(tmp_path):
    origin = tmp_path / "origin"
    origin.mkdir()
    folders = set()
    for text in ("a", "bb"):
        (origin / "file").write_text(text)
        with workspace(CORA, origin, tmp_path / "cache") as folder:
            folders.add(folder)
    assert len(folders) == 2


def test_links_leave_out_what_a_library_processed(tmp_path):
    for name in ("raw/deep/a", "processed/b"):
        (tmp_path / "origin" / name).parent.mkdir(parents=True)
        (tmp_path / "origin" / name).touch()
    for _ in range(2):
        link_files(tmp_path / "origin", tmp_path / "target")
    assert (tmp_path / "target/raw/deep/a").is_symlink()
    assert not (tmp_path / "target/processed").exists()
