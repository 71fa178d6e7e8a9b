import subprocess
import sys

import pytest

from gnnbench.adopt import models, written_benchmark
from gnnbench.adopt.repository import Project

TEXT = """
from torch import nn
from torch_geometric.nn import MessagePassing

class Layer(MessagePassing):
    def __init__(self, nfeat): ...

    def forward(self, x, edge_index):
        return x, edge_index

class GAT(nn.Module):
    def __init__(self, in_channels, hidden_channels, heads=8, *, num_layers, dropout=0.5):
        self.layer = Layer(in_channels)

    def forward(self, x, edge_index, t, edge_weight=None):
        return x
"""


def find(folder, text):
    (folder / "model.py").write_text(text)
    return models.find(Project(folder))


def test_the_model_comes_before_its_layers_with_what_it_requires(tmp_path):
    gat, layer = find(tmp_path, TEXT)
    assert (gat.place, layer.place) == ("model:GAT", "model:Layer")
    assert gat.required == ("in_channels", "hidden_channels", "num_layers")
    assert (gat.inputs, gat.line, gat.returns_one) == (("x", "edge_index", "t"), 11, True)
    assert (layer.required, layer.returns_one) == (("nfeat",), False)


@pytest.mark.parametrize(
    "text",
    [
        "class Net:\n    def forward(self, x): ...\n",
        "class Net(torch.nn.Module):\n    def run(self, x): ...\n",
        "class _Net(torch.nn.Module):\n    def forward(self, x): ...\n",
        "class Net(torch.nn.Module):\n    def forward(self, x",
    ],
)
def test_what_is_no_model(tmp_path, text):
    assert find(tmp_path, text) == []


def test_no_name_of_a_written_benchmark_is_unused_or_unknown_and_what_is_left_is_named(tmp_path):
    """A training step is written only where a call returns one thing."""
    gat, layer = find(tmp_path, TEXT)
    assert written_benchmark.left(gat) == ["in_channels", "hidden_channels", "num_layers", "t"]
    texts = {one: written_benchmark.write(one) for one in (gat, layer)}
    assert ["training_step" in text for text in texts.values()] == [True, False]
    for model, text in texts.items():
        (tmp_path / written_benchmark.file_name(model)).write_text(text)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
