"""Layers under torch.compile on eight graphs of different sizes, like the mini-batches of an epoch.

torch.compile compiles for the first size, and at the second size once more for all sizes. If it compiled a
layer again for each size, every new batch would take seconds instead of milliseconds. Only calls after
warm-up are timed. The counters and a note below the table show the number of compilations.
"""

import pytest


@pytest.mark.operations("conv_compiled_sizes")
def test_conv_sizes(case, kernel, library, measure):
    width = case.spec.hidden
    layer = library.layer(*case.weights(width, width))
    measure(kernel.run, kernel.build(case), layer, case.features())


@pytest.mark.operations("gat_conv_compiled_sizes")
def test_gat_conv_sizes(case, kernel, measure):
    """Eight heads, whose outputs together are as wide as the input."""
    from gnnbench.suite.operations import gat_conv

    measure(kernel.run, kernel.build(case), gat_conv.layer(case), gat_conv.features(case))
