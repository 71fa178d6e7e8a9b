"""References take few columns of a large graph at a time; test_operations.py compares them with libraries."""

import pytest
import torch

from gnnbench.suite import definitions
from gnnbench.suite.operations import REFERENCES


@pytest.mark.parametrize("name", ["spmm_max", "update_all_u_mul_e_sum"])
def test_the_columns_that_are_taken_at_a_time_change_nothing(monkeypatch, small_graph, name):
    x, weight = torch.rand(60, 6).double(), torch.rand(small_graph.num_edges).double()
    inputs = [value.requires_grad_() for value in ((x,) if name == "spmm_max" else (x, weight))]

    def computed():
        output = getattr(REFERENCES, name)(small_graph, *inputs)
        return output, *torch.autograd.grad((output**2).sum(), inputs)

    whole = computed()
    for chunk_bytes in (8 * 250 * 4, 1):
        monkeypatch.setattr(definitions, "CHUNK_BYTES", chunk_bytes)
        torch.testing.assert_close(computed(), whole)
