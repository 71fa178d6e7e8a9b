import gc
from collections import namedtuple

import pytest
import torch

from gnnbench.measure import live


class Odd(type):
    """A class of classes that cannot be keys of a dictionary."""

    __hash__ = None

    def __eq__(cls, other):
        return NotImplemented


@pytest.mark.usefixtures("few_objects")
def test_types_by_name():
    kept = [Odd("Strange", (), {"__module__": 5})(), namedtuple("Point", "x")([])]  # noqa: PYI024
    found = live.snapshot([]).objects
    assert found["5.Strange"] == 1
    assert found[f"{__name__}.Point"] == 1
    assert found["list"] > 1
    del kept


@pytest.mark.parametrize(
    ("tensors", "expected"),
    [
        ([], 0),
        ([torch.ones(10)], 40),
        ([whole := torch.ones(100, dtype=torch.int64), whole[50:], whole.view(10, 10)], 800),
        ([torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 1.0], (2, 2))], 3 * 8 + 2 * 8 + 2 * 4),
        ([torch.eye(4).to_sparse()], 8 * 8 + 4 * 4),
        ([torch.ones(10).to_mkldnn()], 0),
        (["no tensor"], 0),
    ],
)
def test_bytes_of_tensors(tensors, expected):
    assert live.tensor_bytes(tensors) == expected


def test_a_tensor_with_a_symbolic_size_has_no_memory():
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        fake = mode.from_tensor(torch.ones(7))
    assert isinstance(live.tensor_bytes([fake]), int)


def test_frozen_tensors_count_too():
    tensor = torch.ones(1000)
    older = live.tensors()
    gc.freeze()
    before = live.snapshot(older)
    tensor.resize_(3000)
    after = live.snapshot(older)
    gc.unfreeze()
    assert after.tensor_bytes - before.tensor_bytes == 8000
