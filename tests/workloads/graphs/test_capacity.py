import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.suite.graphs import capacity
from gnnbench.suite.graphs.catalog import DatasetName


def test_estimates_grow_with_the_graph_and_its_relations():
    names = ("ogbn-arxiv:synthetic@0.1", "ogbn-arxiv:synthetic", "ogbn-arxiv", "ogbn-products")
    needs = [capacity.peak_bytes(DatasetName.parse(name)) for name in names]
    assert needs == sorted(needs)
    assert needs[-1] > 5e9
    # Measured: 492 MB.
    assert 492e6 < capacity.peak_bytes(DatasetName.parse("ogbn-mag-hetero:synthetic@0.1")) < 1.5 * 492e6


def test_too_little_memory_is_one_line_with_both_figures(tmp_path):
    with pytest.raises(UsageError, match=r"^rmat:30 needs about .* 3\.0 GiB is free; use a smaller scale"):
        capacity.check_memory(DatasetName.parse("rmat:30"), free=3 << 30)
    # A file is judged by its header.
    path = tmp_path / "huge.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n10000000 10000000 9000000000\n")
    with pytest.raises(UsageError, match=r"huge\.mtx needs about .* use a smaller file"):
        capacity.check_memory(DatasetName.parse(str(path)), free=1 << 34)


def test_the_tightest_cgroup_counts(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("1:cpu:/a\n0::/a/b\n")
    for group, limit, used in (("a", "1000", "900"), ("a/b", "max", "10")):
        folder = tmp_path / "sys/fs/cgroup" / group
        folder.mkdir(parents=True)
        for name, text in (("max", limit), ("current", used), ("stat", "anon 5\ninactive_file 7")):
            (folder / f"memory.{name}").write_text(f"{text}\n")
    assert capacity.memory_free(tmp_path) == 107


def test_without_cgroups_the_system_counts(tmp_path):
    assert capacity.memory_free(tmp_path) > 1 << 20
