"""Functions of torch_geometric that became faster or slower in a release."""

import torch
from torch_geometric import utils

NODES, EDGES, HEADS, FEATURES = 10_000, 100_000, 4, 128


def test_softmax_by_ptr(benchmark):
    random = torch.Generator().manual_seed(0)
    scores = torch.randn(EDGES, HEADS, generator=random)
    target = torch.randint(NODES, (EDGES,), generator=random).sort().values
    ptr = torch.zeros(NODES + 1, dtype=torch.int64)
    ptr[1:] = target.bincount(minlength=NODES).cumsum(0)
    benchmark(utils.softmax, scores, target, ptr, NODES)


def test_mask_select(benchmark):
    random = torch.Generator().manual_seed(0)
    x = torch.randn(NODES, FEATURES, generator=random)
    mask = torch.randn(NODES, generator=random) > 0
    benchmark(utils.mask_select, x, 0, mask)
