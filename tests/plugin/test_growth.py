"""Real runs with --gnn-growth: of suites that leak, and of gnnbench's own benchmarks."""

import pytest

from gnnbench.plugin import growth
from tests.suite import SMALL, run, run_kernels

SUITE = """
import ctypes

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


@pytest.mark.whole_call("it starts a process")
def test_whole(benchmark):
    calls = []
    benchmark(calls.append, 1)
    assert calls == [1]


def test_no_benchmark():
    pass
"""
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
GRAPHS = """
import ctypes

import pytest
import torch

USED = b"used_dltensor"  # a capsule of this name does not free its tensor
rename = ctypes.pythonapi.PyCapsule_SetName
rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
x = torch.ones(1000, 16)


def test_layer(benchmark):
    linear, outputs = torch.nn.Linear(16, 16), []
    benchmark(lambda: outputs.append(linear(x)))


def test_fine(benchmark):
    benchmark(torch.nn.Linear(16, 16), x)


def test_tensor_that_native_code_releases_and_forgets(benchmark):
    '''As in pyg-lib#290: a contiguous copy is handed to a kernel, and never freed.'''
    benchmark(lambda: rename(torch.utils.dlpack.to_dlpack(x.t().contiguous()), USED))


def test_tensor_that_gets_larger(benchmark):
    history = torch.ones(1000)
    benchmark(lambda: history.resize_(history.numel() + 1000))


@pytest.mark.whole_call("it starts a process")
@pytest.mark.operations("own")
def test_whole(case, measure):
    measure(lambda x: x, case.features(), reference=lambda graph, x: x)
"""


def said(result):
    """Return the failures by the name of their test, and the lines of the summary."""
    lines = (line for line in result.stdout.splitlines() if not line.startswith("[gw"))
    failures = {line.strip(" _"): next(lines) for line in lines if line.startswith("____")}
    return failures, [line for line in result.stdout.splitlines() if line.startswith("gnnbench: ")]


def test_a_stranger_s_suite_without_torch_in_parallel_whose_rules_tolerate_so_much_or_anything(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "gnnbench.toml").write_text(RULES)
    (tmp_path / "conftest.py").write_text("import sys\nsys.modules['torch'] = None\n")
    result = run("--gnn-growth", "-n", "2", cwd=tmp_path)
    assert result.returncode == 1
    assert "2 failed, 6 passed" in result.stdout
    failures, (first, *lines) = said(result)
    assert failures.keys() == {"test_log", "test_native"}
    assert failures["test_log"] == "grows by 45 list in 45 calls"
    native = "MiB of resident memory in 45 calls, in native code, or numbers, texts or arrays"
    assert native in failures["test_native"]
    assert failures["test_native"].endswith("iB a call, above max_growth = 1.0 KiB (rule 1 of gnnbench.toml)")
    assert first == "gnnbench: 5 benchmarks called 50 times, none timed: 2 grow"
    by_test = {line.partition("test_suite.py::")[2].partition(" ")[0]: line for line in lines}
    kept, pedantic = by_test.pop("test_kept"), by_test.pop("test_pedantic")
    assert kept.startswith("gnnbench: tolerated: test_suite.py::test_kept grows by 45 list in 45 calls; ")
    assert kept.endswith("B a call, within max_growth = 1.0 KiB (rule 2 of gnnbench.toml)")
    assert "grows by 45 list in 45 calls" in pedantic
    assert pedantic.endswith(": ignored, keeps its results on purpose (rule 3 of gnnbench.toml)")
    ((_, left_out),) = by_test.items()
    assert left_out.startswith("gnnbench: 2 left out: test_suite.py::test_")
    assert "test_suite.py::test_once (benchmark.pedantic asks for one call)" in left_out
    assert "test_suite.py::test_whole (its calls are timed whole: it starts a process)" in left_out


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"slower": True, "fastest_ns": [1e6, 2e6, 3e6]}, "takes longer and longer: 1.00 ms, and after 45"),
        ({"objects": ["suite.A", "suite.B"]}, "grows by 45 A, 45 B in 45 calls"),
        (
            {"objects": [*"abcdef"], "tensor_bytes": 1024},
            "grows by 1.0 KiB of tensors, 45 a, 45 b, 45 c, 45 d, ",
        ),
        ({"objects": [*"abcdef"]}, "45 d, objects of 2 other types in 45 calls"),
        ({"objects": ["torch.Tensor"], "tensor_bytes": 2048}, "grows by 45 Tensor (2.0 KiB) in 45 calls"),
    ],
)
def test_what_grows_is_said_in_a_line(found, words):
    nothing = {"calls": 45, "objects": [], "tensor_bytes": 0, "resident_bytes": 0, "slower": False}
    objects = [{"type": name, "count": 45} for name in found.get("objects", [])]
    assert words in growth.sentence({**nothing, **found, "objects": objects})
    assert growth.sentence(nothing) == ""


@pytest.mark.nightly
def test_leaks_of_graph_libraries(tmp_path):
    """Each is real: nothing of torch is replaced."""
    (tmp_path / "test_graphs.py").write_text(GRAPHS)
    result = run_kernels("--gnn-growth", *SMALL, cwd=tmp_path)
    assert "left out" in result.stdout
    assert said(result)[0] == {
        "test_layer": "grows by 45 Tensor (2.7 MiB) in 45 calls",
        "test_tensor_that_native_code_releases_and_forgets": "grows by 45 Tensor (2.7 MiB) in 45 calls",
        "test_tensor_that_gets_larger": "grows by 176 KiB of tensors in 45 calls",
    }


@pytest.mark.nightly
def test_no_core_operation_grows():
    result = run_kernels("benchmarks", "-m", "core", "--gnn-growth", *SMALL)
    assert result.returncode == 0, result.stdout
    (line,) = [line for line in said(result)[1] if "called 50 times" in line]
    assert int(line.split()[1]) > 15
    assert line.endswith("none timed: none grows")
    assert "does not grow" in result.stdout
