"""Train a GCN of two layers (Kipf and Welling, ICLR 2017) on Cora with DGL: `python examples/gcn_dgl.py`."""

import torch
import torch.nn.functional as F

from gnnbench.suite.graphs.load import load_by_id
from gnnbench.suite.libraries import import_dgl

dgl = import_dgl()  # `import dgl` fails with newer PyTorch


class GCN(torch.nn.Module):
    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.conv1 = dgl.nn.GraphConv(features, 64)
        self.conv2 = dgl.nn.GraphConv(64, classes)

    def forward(self, g, x):
        x = F.relu(self.conv1(g, x))
        return self.conv2(g, F.dropout(x, training=self.training))


graph = load_by_id("cora")
g = dgl.add_self_loop(dgl.graph(tuple(graph.edge_index), num_nodes=graph.num_nodes))
torch.manual_seed(0)
torch.set_num_threads(1)  # on a graph this small, threads wait for each other most of the time
model = GCN(graph.num_features, graph.num_classes)
regularised = {"params": model.conv1.parameters(), "weight_decay": 5e-4}
optimizer = torch.optim.Adam([regularised, {"params": model.conv2.parameters()}], lr=0.01)
best = test = 0.0  # validation accuracy of the best epoch, and test accuracy there

for epoch in range(1, 201):
    optimizer.zero_grad()
    logits = model.train()(g, graph.x)
    loss = F.cross_entropy(logits[graph.train_mask], graph.y[graph.train_mask])
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        correct = (model.eval()(g, graph.x).argmax(dim=1) == graph.y).float()
    if correct[graph.val_mask].mean() > best:
        best, test = correct[graph.val_mask].mean().item(), correct[graph.test_mask].mean().item()
    if epoch % 50 == 0:
        print(f"epoch {epoch:3}  loss {loss.item():.3f}  best validation accuracy {best:.3f}")
print(f"{graph.name}: test accuracy {test:.3f}")
