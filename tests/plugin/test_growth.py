"""Real runs with --gnn-growth: of suites that leak, and of gnnbench's own benchmarks."""

import json

import pytest

from gnnbench import codec
from gnnbench.results.parts import BenchmarkPart
from tests.suite import SMALL, run, run_kernels

PLAIN = """
import ctypes
import subprocess

import pytest

LOG = {}
native = ctypes.CDLL(None)
native.malloc.restype = ctypes.c_void_p
native.malloc.argtypes = [ctypes.c_size_t]
native.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]


def test_fine(benchmark):
    assert benchmark(sorted, [2, 1]) == [1, 2]


def test_log(benchmark):
    benchmark(lambda: LOG.update({len(LOG): ["done"]}))


def test_cache(benchmark):
    cached = {}
    benchmark(lambda: cached.setdefault("result", [1]))


def test_kept(benchmark):
    kept = []
    benchmark(lambda: kept.append([]))


def test_native(benchmark):
    benchmark(lambda: native.memset(native.malloc(2**20), 1, 2**20))


def test_pedantic(benchmark):
    kept = []
    benchmark.pedantic(kept.append, setup=lambda: (([],), {}), rounds=3)


def test_once(benchmark):
    left = [1]
    assert benchmark.pedantic(left.pop) == 1


def test_processes(benchmark):
    benchmark(subprocess.run, ["true"])


@pytest.mark.whole_call("it starts a process")
def test_whole(benchmark):
    calls = []
    benchmark(calls.append, 1)
    assert calls == [1]


def test_no_benchmark():
    pass
"""

GRAPHS = """
import pytest
import torch


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)
        self.outputs = []

    def forward(self, x):
        out = self.linear(x)
        self.outputs.append(out)
        return out


@pytest.fixture
def x():
    return torch.ones(1000, 16)


def test_layer(benchmark, x):
    benchmark(Layer(), x)


def test_fine(benchmark, x):
    benchmark(torch.nn.Linear(16, 16), x)


def test_tensor_that_native_code_releases_and_forgets(benchmark, x):
    '''As in pyg-lib#290: a contiguous copy is handed to a kernel, and never freed.'''
    import ctypes

    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]

    def matmul():
        capsule = torch.utils.dlpack.to_dlpack(x.t().contiguous())
        rename(capsule, USED)

    benchmark(matmul)


USED = b"used_dltensor"  # a capsule of this name does not free its tensor


def test_tensor_that_gets_larger(benchmark):
    history = torch.ones(1000)
    benchmark(lambda: history.resize_(history.numel() + 1000))
"""


def messages(result):
    """Return the failures by the name of their test."""
    lines = iter(result.stdout.splitlines())
    return {line.strip(" _"): next(lines) for line in lines if line.startswith("____")}


def summary(result):
    return [line for line in result.stdout.splitlines() if line.startswith("gnnbench: ")]


RULES = """
[[rules]]
benchmarks = "*test_native"
max_growth = "1 KiB"

[[rules]]
benchmarks = "*test_kept"
max_growth = "1 KiB"
max_time = "1 ns"

[[rules]]
benchmarks = "*test_pedantic"
ignore = "keeps its results on purpose"
"""


@pytest.mark.nightly
def test_a_stranger_s_suite_without_torch_whose_rules_tolerate_so_much_or_anything(tmp_path):
    (tmp_path / "test_suite.py").write_text(PLAIN)
    (tmp_path / "gnnbench.toml").write_text(RULES)
    (tmp_path / "conftest.py").write_text("import sys\nsys.modules['torch'] = None\n")
    result = run("--gnn-growth", "--benchmark-json=run.json", cwd=tmp_path)
    assert result.returncode == 1
    found = messages(result)
    assert found.keys() == {"test_log", "test_native"}
    assert found["test_log"] == "grows by 45 list in 45 calls"
    assert (
        "MiB of resident memory in 45 calls, in native code, or numbers, texts or arrays"
        in found["test_native"]
    )
    above = "iB a call, above max_growth = 1.0 KiB (rule 1 of gnnbench.toml)"
    assert found["test_native"].endswith(above)
    assert "2 failed, 8 passed" in result.stdout
    first, *tolerated, last = summary(result)
    assert first == "gnnbench: 6 benchmarks called 50 times, none timed: 2 grow"
    assert last == (
        "gnnbench: 3 left out: test_suite.py::test_once (benchmark.pedantic asks for one call), "
        "test_suite.py::test_processes (the work is done in other processes), "
        "test_suite.py::test_whole (its calls are timed whole: it starts a process)"
    )
    by_name = {line.split()[2]: line for line in tolerated}
    assert by_name.keys() == {"test_suite.py::test_kept", "test_suite.py::test_pedantic"}
    one, other = by_name["test_suite.py::test_kept"], by_name["test_suite.py::test_pedantic"]
    assert one.startswith("gnnbench: tolerated: test_suite.py::test_kept grows by 45 list in 45 calls; ")
    assert one.endswith("B a call, within max_growth = 1.0 KiB (rule 2 of gnnbench.toml)")
    assert "grows by 45 list in 45 calls" in other
    assert other.endswith(": ignored, keeps its results on purpose (rule 3 of gnnbench.toml)")
    saved = json.loads((tmp_path / "run.json").read_text())
    assert "growth" in saved["benchmarks"][0]["extra_info"]["gnnbench"]
    for entry in saved["benchmarks"]:
        codec.decode(entry["extra_info"]["gnnbench"], BenchmarkPart)


def test_in_parallel(tmp_path):
    (tmp_path / "test_suite.py").write_text(PLAIN)
    result = run("--gnn-growth", "-n", "2", "-k", "log or fine", cwd=tmp_path)
    assert result.returncode == 1
    assert messages(result).keys() == {"test_log"}
    assert "gnnbench: 2 benchmarks called 50 times, none timed: 1 grows" in summary(result)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("--gnn-counters", "--gnn-growth makes calls of its own; leave out --gnn-counters"),
        ("--gnn-profile=phases", "--gnn-growth makes calls of its own; leave out --gnn-profile"),
        ("--benchmark-compare", "--gnn-growth does not time benchmarks; leave out --benchmark-compare"),
    ],
)
def test_options_that_exclude_each_other(pytester, other, message):
    with pytest.raises(pytest.UsageError, match=f"^gnnbench: {message}$"):
        pytester.parseconfigure("--gnn-growth", other)


TENSORS = "45 Tensor (2.7 MiB)"
LEAKS = {
    "test_layer": f"grows by {TENSORS} in 45 calls",
    "test_tensor_that_native_code_releases_and_forgets": f"grows by {TENSORS} in 45 calls",
    "test_tensor_that_gets_larger": "grows by 176 KiB of tensors in 45 calls",
}


@pytest.mark.nightly
def test_leaks_of_graph_libraries(tmp_path):
    """Each is real: nothing of torch is replaced."""
    (tmp_path / "test_graphs.py").write_text(GRAPHS)
    found = messages(run_kernels("--gnn-growth", cwd=tmp_path))
    assert found.keys() == LEAKS.keys()
    for name, message in LEAKS.items():
        assert found[name].startswith(message)


@pytest.mark.nightly
def test_no_core_operation_grows():
    result = run_kernels("benchmarks", "-m", "core", "--gnn-growth", *SMALL)
    assert result.returncode == 0, result.stdout
    (line,) = [line for line in summary(result) if "called 50 times" in line]
    assert int(line.split()[1]) > 15
    assert line.endswith("none timed: none grows")
    assert "does not grow" in result.stdout
