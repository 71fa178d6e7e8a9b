"""Rows of a matrix by an index, in two ways; torch 2.14.0 changed the time of the first.

gnnbench bisect pip:torch==2.11.0 pip:torch==2.14.1 -- experiments/known/suites/rows/test_index.py::test_index
"""

import pytest
import torch


@pytest.fixture
def rows():
    """Return a matrix with the shape of Cora's hidden features, and an index for each of its edges."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2708, 64, generator=generator), torch.randint(0, 2708, (10556,), generator=generator)


def test_index(benchmark, rows):
    x, index = rows
    benchmark(lambda: x[index])


def test_index_select(benchmark, rows):
    x, index = rows
    benchmark(lambda: x.index_select(0, index))
