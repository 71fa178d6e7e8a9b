"""Train a GCN of two layers (Kipf and Welling, ICLR 2017) on Cora with PyG: `python examples/gcn_pyg.py`."""

import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv

from gnnbench.suite.graphs.load import load_by_id


class GCN(torch.nn.Module):
    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(features, 64, cached=True)
        self.conv2 = GCNConv(64, classes, cached=True)

    def forward(self, x, edge_index):
        x = F.relu(self.conv1(x, edge_index))
        return self.conv2(F.dropout(x, training=self.training), edge_index)


graph = load_by_id("cora")
torch.manual_seed(0)
torch.set_num_threads(1)  # on a graph this small, threads wait for each other most of the time
model = GCN(graph.num_features, graph.num_classes)
regularised = {"params": model.conv1.parameters(), "weight_decay": 5e-4}
optimizer = torch.optim.Adam([regularised, {"params": model.conv2.parameters()}], lr=0.01)
best = test = 0.0  # validation accuracy of the best epoch, and test accuracy there

for epoch in range(1, 201):
    optimizer.zero_grad()
    logits = model.train()(graph.x, graph.edge_index)
    loss = F.cross_entropy(logits[graph.train_mask], graph.y[graph.train_mask])
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        correct = (model.eval()(graph.x, graph.edge_index).argmax(dim=1) == graph.y).float()
    if correct[graph.val_mask].mean() > best:
        best, test = correct[graph.val_mask].mean().item(), correct[graph.test_mask].mean().item()
    if epoch % 50 == 0:
        print(f"epoch {epoch:3}  loss {loss.item():.3f}  best validation accuracy {best:.3f}")
print(f"{graph.name}: test accuracy {test:.3f}")
