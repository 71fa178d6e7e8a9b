"""How often the layers are compiled. The compiler's back end does not matter for that, so it is left out."""

from functools import partial

import pytest
import torch
from torch._dynamo.exc import FailOnRecompileLimitHit

from gnnbench.measure.counters import count
from gnnbench.workloads.operations.compiled import SIZES, counts
from tests.workloads.cells import workload_of

CONV, GAT = "conv_compiled_sizes", "gat_conv_compiled_sizes"


@pytest.fixture
def workload(monkeypatch, make_case, operation):
    """What is timed, and its inputs."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    workload = workload_of(make_case(operation, "pyg"))
    yield workload.run, workload.inputs
    torch.compiler.reset()


@pytest.mark.parametrize("operation", [CONV, GAT])
def test_two_compilations_serve_all_sizes(workload):
    run, inputs = workload
    assert len(run(*inputs)) == sum(counts(60))
    assert count(lambda: run(*inputs)).counts["compilation"] == {"graphs": 2, "recompilations": 1}


@pytest.mark.parametrize("operation", [CONV, pytest.param(GAT, marks=pytest.mark.nightly)])
def test_a_compilation_for_each_size_is_counted_and_one_more_is_an_error(workload):
    run, (parts, *rest) = workload
    with torch._dynamo.config.patch(automatic_dynamic_shapes=False):
        found = count(lambda: run(parts, *rest)).counts["compilation"]
        assert found == {"graphs": SIZES, "recompilations": SIZES - 1}
        ninth = parts[-1]._replace(num_nodes=parts[-1].num_nodes - 1)
        ninth = ninth._replace(edge_index=ninth.edge_index % ninth.num_nodes)
        with pytest.raises(FailOnRecompileLimitHit):
            run((*parts, ninth), *rest)
