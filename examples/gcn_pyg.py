"""Train a three-layer GCN on Cora with PyG: `python examples/gcn_pyg.py`."""

import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv

from gnnbench.workloads.graphs.load import load_by_id


class GCN(torch.nn.Module):
    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(features, 256, cached=True)
        self.conv2 = GCNConv(256, 32, cached=True)
        self.conv3 = GCNConv(32, classes, cached=True)

    def forward(self, x, edge_index):
        x = F.relu(self.conv1(x, edge_index))
        x = F.relu(self.conv2(x, edge_index))
        return self.conv3(x, edge_index)


graph = load_by_id("cora")
torch.manual_seed(0)
model = GCN(graph.num_features, graph.num_classes)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(1, 101):
    optimizer.zero_grad()
    logits = model(graph.x, graph.edge_index)
    loss = F.cross_entropy(logits[graph.train_mask], graph.y[graph.train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 25 == 0:
        print(f"epoch {epoch:3}  loss {loss.item():.3f}")

correct = model(graph.x, graph.edge_index).argmax(dim=1) == graph.y
print(f"{graph.name}: test accuracy {correct[graph.test_mask].float().mean():.3f}")
