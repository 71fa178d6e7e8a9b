"""What is compiled is compiled whole, and anew for each benchmark."""

import pytest
import torch

from gnnbench.engine.measure import conditions
from gnnbench.suite.operations import OPERATIONS
from gnnbench.suite.operations.compiled import compiled


class Layer(torch.nn.Module):
    """Breaks the graph if it is told to."""

    def __init__(self, breaks=False):
        super().__init__()
        self.breaks = breaks

    def forward(self, x, edge_index):
        if self.breaks:
            torch._dynamo.graph_break()
        return x[edge_index[0]].relu()


@pytest.mark.usefixtures("without_back_end")
def test_a_graph_break_is_an_error():
    edges, x = torch.tensor([[0, 1], [1, 0]]), torch.randn(2, 3)
    assert torch.equal(compiled()(edges, Layer(), x), x.relu())
    with pytest.raises(torch._dynamo.exc.Unsupported, match="graph_break"):
        compiled()(edges, Layer(breaks=True), x)


@pytest.mark.usefixtures("without_back_end")
def test_each_benchmark_compiles_for_itself():
    conditions.reset_compiler()
    for size in range(2, 12):  # more than torch.compile allows of one function
        compiled()(torch.zeros(2, size, dtype=torch.int64), Layer(), torch.randn(size, size))
    assert conditions.compilations()["recompilations"] == 0


def test_a_model_is_timed_compiled_and_not():
    for platform, is_compiled in (("pyg", False), ("compiled", True)):
        run = OPERATIONS["gcn_training"].kernel(platform).run
        assert hasattr(run, "get_compiler_config") == is_compiled
