"""Real runs with --gnn-growth: of suites that leak, and of gnnbench's own benchmarks."""

import json
from functools import cache

import pytest

from gnnbench.schema import departure
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


def test_sum(benchmark):
    sums = []
    benchmark(lambda: sums.append(sum([0.5, len(sums)])))


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


class Graph:
    def __init__(self, features):
        self.ndata = {"x": features}


class MessagePassing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, graph):
        ctx.backward_cache = graph
        return 2 * x


def test_graph_in_autograd_s_context(benchmark, x):
    '''As in dgl#3410: the graph gets a result whose backward function holds the graph.'''
    x.requires_grad_()

    def update_all():
        graph = Graph(x)
        graph.ndata["h"] = MessagePassing.apply(x, graph) + 1

    benchmark(update_all)


class Sampler:
    formats = {}

    def __call__(self, x):
        graph = Graph(x.clone())
        self.formats[id(graph)] = graph
        return graph


def test_graph_in_a_cache(benchmark, x):
    benchmark(Sampler(), x)


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


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "test_suite.py").write_text(PLAIN)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


LOG = "grows by 45 list in 45 calls; held by test_suite.LOG (dict)"


def test_a_stranger_s_suite_without_torch(suite):
    (suite / "conftest.py").write_text("import sys\nsys.modules['torch'] = None\n")
    result = run("--gnn-growth", "--benchmark-json=run.json", cwd=suite)
    assert result.returncode == 1
    found = messages(result)
    assert found.keys() == {"test_log", "test_native", "test_pedantic", "test_sum"}
    assert found["test_log"] == LOG
    assert found["test_sum"] == (
        "grows by 45 blocks of untracked objects (numbers, texts, arrays, plain dicts) in 45 calls; "
        "held by test_sum.sums (list)"
    )
    assert found["test_native"].endswith("MiB of resident memory in 45 calls: native code keeps it")
    assert found["test_pedantic"].startswith("grows by 45 list in 45 calls")
    assert "4 failed, 6 passed" in result.stdout
    assert summary(result) == [
        "gnnbench: 6 benchmarks called 50 times, none timed: 4 grow",
        (
            "gnnbench: 3 left out: test_suite.py::test_once (benchmark.pedantic asks for one call), "
            "test_suite.py::test_processes (the work is done in other processes), "
            "test_suite.py::test_whole (its calls are timed whole: it starts a process)"
        ),
    ]
    saved = json.loads((suite / "run.json").read_text())
    assert "growth" in saved["benchmarks"][0]["extra_info"]["gnnbench"]
    for one in saved["benchmarks"]:
        assert departure(one["extra_info"]["gnnbench"], "run") is None


def test_in_parallel(suite):
    result = run("--gnn-growth", "-n", "2", cwd=suite)
    assert result.returncode == 1
    assert messages(result).keys() == {"test_log", "test_native", "test_pedantic", "test_sum"}
    assert "gnnbench: 6 benchmarks called 50 times, none timed: 4 grow" in summary(result)


def test_rules_tolerate_so_much_or_anything(suite):
    (suite / "gnnbench.toml").write_text(
        '[[rules]]\nbenchmarks = "*"\nmax_growth = "1 KiB"\nmax_time = "1 ns"\n'
        '[[rules]]\nbenchmarks = "*test_pedantic"\nignore = "keeps its results on purpose"\n'
    )
    result = run("--gnn-growth", cwd=suite)
    (name, message), *more = messages(result).items()
    assert (name, more) == ("test_native", [])
    assert message.endswith("iB a call, above max_growth = 1.0 KiB (rule 1 of gnnbench.toml)")
    tolerated = {line.split()[2]: line for line in summary(result) if "tolerated" in line}
    assert f"{LOG}; " in tolerated["test_suite.py::test_log"]
    assert tolerated["test_suite.py::test_log"].endswith(
        "B a call, within max_growth = 1.0 KiB (rule 1 of gnnbench.toml)"
    )
    assert tolerated["test_suite.py::test_pedantic"].endswith(
        ": ignored, keeps its results on purpose (rule 2 of gnnbench.toml)"
    )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("--gnn-counters", "--gnn-growth makes calls of its own; leave out --gnn-counters"),
        ("--gnn-profile=phases", "--gnn-growth makes calls of its own; leave out --gnn-profile"),
        ("--benchmark-compare", "--gnn-growth does not time benchmarks; leave out --benchmark-compare"),
    ],
)
def test_options_that_exclude_each_other(suite, other, message):
    result = run("--gnn-growth", other, cwd=suite)
    assert result.returncode == 4
    assert result.stderr.strip() == f"ERROR: gnnbench: {message}"


@cache
def graphs(folder):
    (folder / "test_graphs.py").write_text(GRAPHS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return run_kernels("--gnn-growth", cwd=folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("test_layer", "grows by 45 Tensor (2.7 MiB) in 45 calls; held by Layer.outputs (list)"),
        (
            "test_graph_in_autograd_s_context",
            (
                "grows by 90 dict, 45 Graph, 45 Tensor (2.7 MiB), 45 MessagePassingBackward in 45 calls; "
                "held by native code, as no Python object refers to MessagePassingBackward"
            ),
        ),
        (
            "test_graph_in_a_cache",
            "grows by 45 dict, 45 Graph, 45 Tensor (2.7 MiB) in 45 calls; held by Sampler.formats (dict)",
        ),
        (
            "test_tensor_that_native_code_releases_and_forgets",
            (
                "grows by 45 Tensor (2.7 MiB) in 45 calls; "
                "held by native code, as no Python object refers to Tensor"
            ),
        ),
        ("test_tensor_that_gets_larger", "grows by 176 KiB of tensors in 45 calls"),
    ],
)
def test_leaks_of_graph_libraries(tmp_path_factory, name, message):
    """Each is real: nothing of torch is replaced."""
    base = tmp_path_factory.getbasetemp() / "graphs"
    base.mkdir(exist_ok=True)
    found = messages(graphs(base))
    assert "test_fine" not in found
    assert found[name].startswith(message)


def test_no_core_operation_grows():
    result = run_kernels("benchmarks", "-m", "core", "--gnn-growth", *SMALL)
    assert result.returncode == 0, result.stdout
    (line,) = [line for line in summary(result) if "called 50 times" in line]
    assert int(line.split()[1]) > 20
    assert line.endswith("none timed: none grows")
    assert "does not grow" in result.stdout
