"""An epoch of GIN on 854 small graphs in batches of 128, as in the classification of molecules.

Unlike an epoch on one large graph, it joins graphs in each step. Its layers are so small that function calls
take a large part of the time. A slower loader or a slower `Batch` shows here.
"""

import pytest


@pytest.mark.operations("epoch_gin")
def test_gin(case, kernel, measure):
    """Three layers, without dropout or batch normalisation; the graphs are not shuffled."""
    import torch

    from gnnbench.suite import training
    from gnnbench.suite.operations import epoch_gin

    model = epoch_gin.model(case)
    optimizer = torch.optim.Adam(model.parameters(), lr=training.LEARNING_RATE)
    measure(kernel.run, kernel.build(case), model, optimizer, result=kernel.result)
