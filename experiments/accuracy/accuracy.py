"""Test accuracy of the models of `epoch_gat` and `epoch_sage` on the real Cora, for each library.

    GNNBENCH_DATA=... python experiments/accuracy/accuracy.py [--seeds 5]

GAT is trained as published (Velickovic et al., ICLR 2018), but for fewer epochs; GraphSAGE has the same
weight decay. Features are divided by the sum of their row. Every tenth epoch is evaluated; the test accuracy
is that of the epoch with the best validation accuracy.
"""

import argparse
import statistics
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import nn

from gnnbench.engine.ground import environment
from gnnbench.engine.ground.files import cache_folder
from gnnbench.engine.measure.conditions import cpu_threads
from gnnbench.suite import platforms, training
from gnnbench.suite.case import Case
from gnnbench.suite.graphs.catalog import DatasetName
from gnnbench.suite.graphs.graph import Graph
from gnnbench.suite.graphs.load import load
from gnnbench.suite.graphs.published import data_folder
from gnnbench.suite.network import Network
from gnnbench.suite.operations import gat_conv, layers
from gnnbench.suite.spec import Spec

PLATFORMS = ("pyg", "dgl")
WEIGHT_DECAY = 5e-4
EVERY = 10


GAT = gat_conv.build, lambda case: platforms.load(case.spec.platform).layer_graph(case)
SAGE = layers.sage_network, layers.sage_graph
MODELS = {"gat": (GAT, 64, 0.6, 0.005, 200), "sage": (SAGE, 256, 0.5, 0.01, 100)}
"""Functions of the model, hidden width, dropout, learning rate and epochs."""


def dropping(model: Network, dropout: float) -> Network:
    """Add dropout to a network in training: of entries of each layer's input, and of edges for each head."""
    convolve = model.convolve
    model.convolve = lambda graph, layer, x: convolve(graph, layer, F.dropout(x, dropout, model.training))
    for layer in model.layers:
        if hasattr(layer, "attn_drop"):  # DGL's name
            layer.attn_drop = nn.Dropout(dropout)
        elif hasattr(layer, "att_src"):
            layer.dropout = dropout
    return model


def accuracy(graph: Graph, name: str, platform: str, seed: int) -> float:
    """Train a model on a platform from the weights of a seed; return its test accuracy."""
    (build, structure), hidden, dropout, rate, epochs = MODELS[name]
    graph = replace(graph, x=graph.x / graph.x.sum(dim=1, keepdim=True).clamp(min=1))
    case = Case(Spec(f"epoch_{name}", "train", platform, "float32", "int64", "cora", hidden, "cpu"), graph)
    torch.manual_seed(seed)  # of dropout
    model = dropping(build(case, seed), dropout)
    t = training.prepare_model(case, model, structure(case))
    t.optimizer.param_groups[0].update(lr=rate, weight_decay=WEIGHT_DECAY)
    best = 0.0, 0.0
    with cpu_threads(1):  # on a graph this small, threads wait for each other most of the time
        for _ in range(epochs // EVERY):
            model.train()
            for _ in range(EVERY):
                training.epoch(model, t.structure, t.x, t.train, t.y, t.optimizer)
            model.eval()
            with torch.no_grad():
                right = (model(t.structure, t.x).argmax(dim=1) == graph.y).double()
            now = float(right[graph.val_mask].mean()), float(right[graph.test_mask].mean())
            best = max(best, now, key=lambda validation_and_test: validation_and_test[0])
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
