from pathlib import Path

import pytest

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs import capacity
from gnnbench.workloads.graphs.catalog import DATASETS, DatasetName


def test_estimates_grow_with_the_graph() -> None:
    names = (
        "ogbn-arxiv:synthetic@0.1",
        "ogbn-arxiv:synthetic",
        "ogbn-arxiv",
        "ogbn-papers100M",
    )
    needs = [capacity.peak_bytes(DatasetName.parse(name)) for name in names]
    assert needs == sorted(needs)
    assert needs[-1] > 400e9


def test_relations_take_memory_too() -> None:
    name = DatasetName.parse("ogbn-mag-hetero:synthetic@0.1")
    # Measured: 492 MB.
    assert 492e6 < capacity.peak_bytes(name) < 1.5 * 492e6


def test_too_little_memory_is_one_line_with_both_figures() -> None:
    with pytest.raises(UsageError) as caught:
        capacity.check_memory(DatasetName.parse("rmat:30"), free=3 << 30)
    message = str(caught.value)
    assert message.startswith("rmat:30 needs about ")
    assert "3.0 GiB (3221225472 bytes) is free" in message
    assert "use a smaller scale" in message


def test_a_file_is_judged_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "huge.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n10000000 10000000 9000000000\n")
    with pytest.raises(UsageError, match=r"huge\.mtx needs about .* use a smaller file"):
        capacity.check_memory(DatasetName.parse(str(path)), free=1 << 34)


def test_too_little_disk_names_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "not/there"
    with pytest.raises(
        UsageError, match=r"ogbn-products needs about .* bytes\) of disk in .*there, but 1\.0 GiB"
    ):
        capacity.check_disk(DATASETS["ogbn-products"], folder, download=True, free=1 << 30)
    capacity.check_disk(DATASETS["cora"], folder, download=False)


def _group(folder: Path, limit: str, used: int, names: tuple[str, str]) -> None:
    folder.mkdir(parents=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text("anon 5\ninactive_file 7\n")


@pytest.mark.parametrize(
    ("line", "mount", "names"),
    [
        ("0::/a/b\n", "sys/fs/cgroup", ("memory.max", "memory.current")),
        ("4:memory:/a/b\n", "sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")),
    ],
)
def test_the_tightest_cgroup_counts(tmp_path: Path, line: str, mount: str, names: tuple[str, str]) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"1:cpu:/a\n{line}")
    _group(tmp_path / mount / "a", "1000", 900, names)
    _group(tmp_path / mount / "a/b", "max", 10, names)
    assert capacity.memory_free(tmp_path) == 107


def test_without_cgroups_the_system_counts(tmp_path: Path) -> None:
    assert capacity.memory_free(tmp_path) > 1 << 20
