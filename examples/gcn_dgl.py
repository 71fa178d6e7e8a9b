"""Train a three-layer GCN on Cora with DGL: `python examples/gcn_dgl.py`."""

import torch
import torch.nn.functional as F

from gnnbench.workloads.graphs.load import load_by_id
from gnnbench.workloads.platforms.dgl_import import import_dgl

dgl = import_dgl()  # `import dgl` fails with newer PyTorch


class GCN(torch.nn.Module):
    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.conv1 = dgl.nn.GraphConv(features, 256)
        self.conv2 = dgl.nn.GraphConv(256, 32)
        self.conv3 = dgl.nn.GraphConv(32, classes)

    def forward(self, g, x):
        x = F.relu(self.conv1(g, x))
        x = F.relu(self.conv2(g, x))
        return self.conv3(g, x)


graph = load_by_id("cora")
g = dgl.add_self_loop(dgl.graph(tuple(graph.edge_index), num_nodes=graph.num_nodes))
torch.manual_seed(0)
model = GCN(graph.num_features, graph.num_classes)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(1, 101):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(g, graph.x)[graph.train_mask], graph.y[graph.train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 25 == 0:
        print(f"epoch {epoch:3}  loss {loss.item():.3f}")

correct = model(g, graph.x).argmax(dim=1) == graph.y
print(f"{graph.name}: test accuracy {correct[graph.test_mask].float().mean():.3f}")
