"""Layers under torch.compile on eight graphs of different sizes, as mini-batches have them.

torch.compile compiles for the first size, and at the second one once more for all sizes. A layer that it
compiles again for each size takes seconds instead of milliseconds in every new batch. The time is that of
calls after warm-up; the counters have the number of compilations, and so has a note below the table.
"""

import pytest


@pytest.mark.operations("conv_compiled_sizes")
def test_conv_sizes(case, kernel, library, measure):
    width = case.spec.hidden
    layer = library.layer(*case.weights(width, width))
    measure(kernel.run, kernel.build(case), layer, case.features())


@pytest.mark.operations("gat_conv_compiled_sizes")
def test_gat_conv_sizes(case, kernel, measure):
    """Eight heads; together they have the width of the input."""
    from gnnbench.suite.operations import gat_conv

    measure(kernel.run, kernel.build(case), gat_conv.layer(case), gat_conv.features(case))
