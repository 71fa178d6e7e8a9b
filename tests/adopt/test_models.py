import pytest

from gnnbench.adopt import models
from gnnbench.adopt.repository import Repository

HEAD = "from torch import nn\nfrom torch_geometric.nn import GATConv, MessagePassing\n"
GAT = """
class GAT(nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels, heads=8, *, num_layers, dropout=0.5):
        self.layer = Layer(in_channels)

    def forward(self, x, edge_index, edge_weight=None):
        return x
"""
LAYER = """
class Layer(MessagePassing):
    def __init__(self, nfeat): ...

    def forward(self, x, edge_index):
        return x, edge_index
"""


def find(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return models.find(Repository(folder))


def test_the_model_comes_before_its_layers_with_what_it_requires(tmp_path):
    gat, layer = find(tmp_path, model=HEAD + LAYER + GAT)
    assert (gat.place, layer.place) == ("model:GAT", "model:Layer")
    assert gat.required == ["in_channels", "hidden_channels", "out_channels", "num_layers"]
    assert (gat.inputs, gat.line, gat.returns_one) == (["x", "edge_index"], 10, True)
    assert (layer.required, layer.returns_one) == (["nfeat"], False)


def test_methods_and_the_kind_come_from_base_classes(tmp_path):
    child = "from a import Layer\nclass Deep(Layer):\n    def __init__(self): ...\n"
    found = {one.place: one for one in find(tmp_path, a=HEAD + LAYER, b=child)}
    assert found["b:Deep"].required == []
    assert found["b:Deep"].inputs == ["x", "edge_index"]


@pytest.mark.parametrize(
    "text",
    [
        "import flax.linen as nn\nclass Net(nn.Module):\n    def forward(self, x): ...\n",
        "import torch\nclass Net:\n    def forward(self, x): ...\n",
        "import torch\nclass Net(torch.nn.Module):\n    def run(self, x): ...\n",
        "import torch\nclass _Net(torch.nn.Module):\n    def forward(self, x): ...\n",
        "import torch\nclass A(B):\n    def forward(self, x): ...\nclass B(A): ...\n",
    ],
)
def test_what_is_no_model(tmp_path, text):
    assert find(tmp_path, net=text) == []
