"""A custom message function, as in most new layers: the sum of weight * relu(x_j - x_i) over neighbours.

No library fuses the message with the sum. PyG's MessagePassing and DGL's update_all with a Python function
gather both ends of each edge and store every message, so memory traffic and peak memory grow with edges times
width. DGL sums the messages with a built-in kernel. Plain PyTorch takes the same steps; the difference is the
overhead of the library.
"""

import pytest


@pytest.mark.operations("message_passing")
def test_message_passing(case, kernel, measure):
    inputs = case.features(), case.edge_weight()
    measure(kernel.run, kernel.build(case), *inputs)
