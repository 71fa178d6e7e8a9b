import pytest

from gnnbench.adopt import models
from gnnbench.adopt.repository import Repository

HEAD = "from torch import nn\nfrom torch_geometric.nn import GATConv, MessagePassing\n"
GAT = """
class GAT(nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels, heads=8, *, num_layers):
        self.layer = Layer(in_channels)

    def forward(self, x, edge_index, edge_weight=None):
        return x
"""
LAYER = """
class Layer(MessagePassing):
    def __init__(self, nfeat): ...

    def forward(self, x, edge_index):
        return x
"""


def find(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return models.find(Repository(folder))


def test_the_model_comes_before_its_layers_and_parameters_are_told_by_their_names(tmp_path):
    gat, layer = find(tmp_path, model=HEAD + LAYER + GAT)
    assert (gat.place, layer.place) == ("model:GAT", "model:Layer")
    assert gat.arguments == {
        "in_channels": "FEATURES",
        "hidden_channels": "HIDDEN",
        "out_channels": "CLASSES",
        "num_layers": "LAYERS",
    }
    assert (gat.inputs, gat.unknown, gat.line) == (["x", "edge_index"], [], 10)
    assert layer.arguments == {"nfeat": "FEATURES"}


def test_methods_and_the_kind_come_from_base_classes(tmp_path):
    child = "from a import Layer\nclass Deep(Layer):\n    def __init__(self): ...\n"
    found = {one.place: one for one in find(tmp_path, a=HEAD + LAYER, b=child)}
    assert found["b:Deep"].arguments == {}
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


def test_what_the_names_do_not_tell_is_unknown(tmp_path):
    (one,) = find(
        tmp_path,
        net="import torch\nclass Net(torch.nn.Module):\n    def __init__(self, config): ...\n"
        "    def forward(self, x, t):\n        return x, t\n",
    )
    assert one.unknown == ["config", "t"]
    assert not one.returns_one


def test_names_of_parameters_in_use(tmp_path):
    sizes = {
        "in_dim": "FEATURES",
        "num_node_features": "FEATURES",
        "nfeat": "FEATURES",
        "input_size": "FEATURES",
        "nhid": "HIDDEN",
        "hidden_features": "HIDDEN",
        "nclass": "CLASSES",
        "out_features": "CLASSES",
        "num_layers": "LAYERS",
        "n_heads": "HEADS",
        "dropout": "0.5",
        "num_nodes": "NODES",
        "edge_dim": "EDGE_FEATURES",
        "num_relations": "RELATIONS",
    }
    head = "import torch\nclass Net(torch.nn.Module):\n"
    text = f"    def __init__(self, {', '.join(sizes)}): ...\n    def forward(self, x): ...\n"
    (one,) = find(tmp_path, net=head + text)
    assert one.arguments == sizes
