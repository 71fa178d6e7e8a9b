"""The file of a data set on disk: each process has its own connection to it, and it is gone at the end."""

import tempfile

import pytest

from gnnbench.suite.operations import graph_loader


@pytest.mark.parametrize("workers", [0, 2])
def test_only_the_processes_that_read_open_the_file(make_case, monkeypatch, tmp_path, workers):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    case = make_case(f"disk_loader_{workers}_workers", "pyg")
    with pytest.raises(KeyboardInterrupt), graph_loader.loading_from_disk(case) as running:  # noqa: PT012
        batches = graph_loader.take(running)
        assert len(batches) == graph_loader.BATCHES
        assert (running._loader.dataset._db is None) == bool(workers)
        (folder,) = tmp_path.glob("gnnbench-*")
        assert list(folder.rglob("sqlite.db"))
        raise KeyboardInterrupt
    assert not list(tmp_path.glob("gnnbench-*"))
