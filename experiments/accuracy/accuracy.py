"""Test accuracy of the models of `epoch_gat` and `epoch_sage` on the real Cora, for each library.

    GNNBENCH_DATA=... python experiments/accuracy/accuracy.py [--seeds 5]

GAT is trained as published (Velickovic et al., ICLR 2018), but for fewer epochs; GraphSAGE with the same
weight decay. Features are divided by each row's sum. Every tenth epoch is evaluated; the test accuracy is
that of the one with the best validation accuracy.
"""

import argparse
import statistics
from dataclasses import dataclass, replace
from types import ModuleType

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gnnbench.engine.ground import environment
from gnnbench.engine.ground.files import cache_folder
from gnnbench.engine.measure.conditions import cpu_threads
from gnnbench.suite import gat, sage, training
from gnnbench.suite.case import Case
from gnnbench.suite.graphs.catalog import DatasetName
from gnnbench.suite.graphs.graph import Graph
from gnnbench.suite.graphs.load import load
from gnnbench.suite.graphs.locate import data_folder
from gnnbench.suite.network import Network
from gnnbench.suite.spec import Spec

PLATFORMS = ("pyg", "dgl")
WEIGHT_DECAY = 5e-4
EVERY = 10


@dataclass(frozen=True)
class Settings:
    """How a model is trained."""

    model: ModuleType
    hidden: int
    dropout: float
    learning_rate: float
    epochs: int


MODELS = {
    "gat": Settings(gat, hidden=64, dropout=0.6, learning_rate=0.005, epochs=200),
    "sage": Settings(sage, hidden=256, dropout=0.5, learning_rate=0.01, epochs=100),
}


class Dropping(Network):
    """A network that drops entries of each layer's input in training, and edges for each head."""

    dropout: float

    @classmethod
    def of(cls, network: Network, dropout: float) -> "Dropping":
        """Return a network with the layers of another one."""
        found = cls(network.layers, network.convolve, network.activation)
        found.dropout = dropout
        for layer in found.layers:
            if hasattr(layer, "attn_drop"):  # DGL's name
                layer.attn_drop = nn.Dropout(dropout)
            elif hasattr(layer, "att_src"):
                layer.dropout = dropout
        return found

    def forward(self, structure: object, x: Tensor) -> Tensor:
        """Return the logits [N, C] for features [N, F]."""
        for index, layer in enumerate(self.layers):
            x = getattr(F, self.activation)(x) if index else x
            x = self.convolve(structure, layer, F.dropout(x, self.dropout, self.training))
        return x


@torch.no_grad()
def accuracy_on(t: training.Training, y: Tensor, nodes: Tensor) -> float:
    """Return the fraction of the nodes, bool [N], whose largest logit is their class y, int64 [N]."""
    t.model.eval()
    return float((t.model(t.structure, t.x).argmax(dim=1)[nodes] == y[nodes]).double().mean())


def accuracy(graph: Graph, name: str, platform: str, seed: int, epochs: int | None = None) -> float:
    """Train a model on a platform from the weights of a seed; return its test accuracy."""
    settings = MODELS[name]
    graph = replace(graph, x=graph.x / graph.x.sum(dim=1, keepdim=True).clamp(min=1))
    spec = Spec(f"epoch_{name}", "train", platform, "float32", "int64", graph.name, settings.hidden, "cpu")
    case = Case(spec, graph)
    torch.manual_seed(seed)  # of dropout
    parameters = settings.model.initial_parameters(graph, settings.hidden, seed)
    model = Dropping.of(settings.model.build(case, parameters), settings.dropout)
    t = training.prepare_model(case, model, settings.model.kernel(platform).build(case))
    t.optimizer.param_groups[0].update(lr=settings.learning_rate, weight_decay=WEIGHT_DECAY)
    best = 0.0, 0.0
    with cpu_threads(1):  # on a graph this small, threads wait for each other most of the time
        for _ in range((epochs or settings.epochs) // EVERY):
            t.model.train()
            for _ in range(EVERY):
                training.epoch(t.model, t.structure, t.x, t.train, t.y, t.optimizer)
            validation, test = (accuracy_on(t, graph.y, nodes) for nodes in (graph.val_mask, graph.test_mask))
            best = max(best, (validation, test), key=lambda pair: pair[0])
    return best[1]


def main() -> None:
    """Train each model on each platform with each seed, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    environment.let_idle_threads_sleep()
    graph = load(DatasetName.parse("cora"), data_folder(), cache_folder())
    for name in MODELS:
        for platform in PLATFORMS:
            found = [accuracy(graph, name, platform, seed) for seed in range(options.seeds)]
            each = " ".join(f"{one:.3f}" for one in found)
            print(f"{name:5}{platform:4} mean {statistics.mean(found):.4f}: {each}", flush=True)


if __name__ == "__main__":
    main()
