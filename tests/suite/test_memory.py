import numpy as np
import pytest
import torch

from gnnbench.engine.ground import environment
from gnnbench.engine.measure.memory import is_out_of_memory
from gnnbench.suite import memory

MIB = 1 << 20


def test_the_tightest_cgroup_counts(tmp_path, monkeypatch):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("1:cpu:/a\n0::/a/b\n")
    for group, limit, used in (("a", "1000", "900"), ("a/b", "max", "10")):
        folder = tmp_path / "sys/fs/cgroup" / group
        folder.mkdir(parents=True)
        texts = {"max": limit, "current": used, "stat": "anon 5\ninactive_file 4\nactive_file 3"}
        for name, text in texts.items():
            (folder / f"memory.{name}").write_text(f"{text}\n")
    monkeypatch.setattr(environment, "SYSTEM", tmp_path)
    assert memory.free_bytes() == 107


def test_without_cgroups_the_system_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "SYSTEM", tmp_path)
    assert memory.free_bytes() > MIB


@pytest.mark.parametrize("make", [torch.ones, np.ones], ids=["torch", "numpy"])
def test_what_takes_more_than_is_free_is_an_error_and_the_process_goes_on(monkeypatch, make):
    monkeypatch.setattr(memory, "free_bytes", lambda: 64 * MIB)
    with memory.bounded():
        make(MIB)
        with pytest.raises((RuntimeError, MemoryError)) as caught:
            make(64 * MIB)
    assert is_out_of_memory(caught.value)
    make(64 * MIB)
