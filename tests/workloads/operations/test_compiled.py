"""How often the layers are compiled. The compiler's back end does not matter for that, so it is left out."""

import pytest
import torch
from torch._dynamo.exc import FailOnRecompileLimitHit

from gnnbench.measure import compilation
from gnnbench.workloads.operations.compiled import SIZES, counts
from tests.workloads.cells import workload_of

CONV, GAT = "conv_compiled_sizes", "gat_conv_compiled_sizes"


pytestmark = pytest.mark.usefixtures("without_back_end")


@pytest.fixture
def workload(make_case, operation):
    return workload_of(make_case(operation, "pyg", "forward_backward"))


@pytest.mark.parametrize("operation", [CONV, GAT])
def test_two_compilations_serve_all_sizes_and_are_right(workload):
    compilation.clear()
    assert len(workload.timed().verify()) == sum(counts(60))
    assert compilation.counts() == {"graphs": 2, "recompilations": 1}


@pytest.mark.parametrize("operation", [CONV, pytest.param(GAT, marks=pytest.mark.nightly)])
def test_a_compilation_for_each_size_is_counted_and_one_more_than_allowed_is_an_error(workload):
    """Torch allows as many as there are sizes; of the first two sizes, so that it takes less time."""
    config = torch._dynamo.config
    assert config.recompile_limit == SIZES
    parts, *rest = workload.inputs
    with config.patch(automatic_dynamic_shapes=False, recompile_limit=2):
        compilation.clear()
        workload.run(parts[:2], *rest)
        assert compilation.counts() == {"graphs": 2, "recompilations": 1}
        with pytest.raises(FailOnRecompileLimitHit):
            workload.run(parts[2:3], *rest)
