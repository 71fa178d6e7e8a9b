"""The table that people read and pytest collects from, and the modules that hold the code, agree."""

import subprocess
import sys

import pytest
import torch

from gnnbench.workloads import platforms
from gnnbench.workloads.operations import OPERATIONS
from gnnbench.workloads.platforms import PLATFORMS
from gnnbench.workloads.platforms.dgl_import import import_dgl


def test_registry_names_its_keys_and_the_tables_platforms():
    assert [platform.name for platform in PLATFORMS.values()] == list(PLATFORMS)
    assert {name for operation in OPERATIONS.values() for name in operation.calls} == set(PLATFORMS)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_layer_takes_the_given_weights_and_keeps_none_of_them(platform):
    module = platforms.load(platform)
    weight, bias = torch.rand(5, 3, dtype=torch.float64), torch.rand(3, dtype=torch.float64)
    layer = module.layer(weight, bias, cached=False)
    (matrix,) = [parameter for parameter in layer.parameters() if parameter.dim() == 2]
    (vector,) = [parameter for parameter in layer.parameters() if parameter.dim() == 1]
    assert torch.equal(matrix.t() if module.TRANSPOSED_WEIGHT else matrix, weight)
    assert torch.equal(vector, bias)
    weight.zero_()
    assert matrix.any()


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_dense_output_has_no_entries(platform):
    module, dense = platforms.load(platform), torch.rand(4, 2)
    assert module.entries(dense) is None
    assert module.values(dense) is dense


@pytest.mark.parametrize("platform", ["pyg", "sparse", "dgl"])
def test_entries_of_a_graph_are_targets_and_sources(platform):
    # The edges 0 → 2, 2 → 1 and 0 → 1, none of them with its reverse.
    source, target = torch.tensor([[0, 2, 0], [2, 1, 1]])
    weight = torch.tensor([1.0, 2.0, 3.0])
    if platform == "pyg":
        output = (torch.stack((source, target)), weight)
    elif platform == "sparse":
        from torch_sparse import SparseTensor

        output = SparseTensor(row=target, col=source, value=weight, sparse_sizes=(3, 3))
    else:
        output = import_dgl().graph((source, target), num_nodes=3)
        output.edata["w"] = weight
    module = platforms.load(platform)
    expected = torch.tensor([[0.0, 0.0, 0.0], [3.0, 0.0, 2.0], [1.0, 0.0, 0.0]])
    matrix = torch.sparse_coo_tensor(module.entries(output), module.values(output), (3, 3))
    assert torch.equal(matrix.to_dense(), expected)
    assert sorted(module.values(output).tolist()) == [1.0, 2.0, 3.0]


def test_collection_imports_nothing_heavy():
    code = """
import sys
from gnnbench.workloads import cells, operations, platforms
from gnnbench.workloads.graphs import capacity, catalog, locate
print({'torch', 'torch_geometric', 'dgl', 'numpy', 'scipy', 'ogb', 'ssl'} & set(sys.modules))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_library_that_is_built_for_the_cpu_is_not_for_cuda(platform):
    assert platforms.why_not_on(platform, "cpu") is None
    reason = platforms.why_not_on(platform, "cuda")
    if platform in ("pyg", "torch"):
        assert reason is None
    elif torch.version.cuda is None:
        assert "built without CUDA" in reason
