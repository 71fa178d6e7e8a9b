import torch

from gnnbench.workloads.graphs.catalog import DatasetName
from gnnbench.workloads.graphs.rmat import generate


def test_counts_skew_and_bytes() -> None:
    graph = generate(DatasetName.parse("rmat:8"))
    assert (graph.name, graph.synthetic) == ("rmat:8", True)
    assert (graph.num_nodes, graph.num_features, graph.num_classes) == (256, 128, 16)
    # 4096 pairs are drawn; about half are loops or repetitions in so small a graph.
    assert graph.num_edges == 4312
    degrees = torch.bincount(graph.edge_index[1], minlength=256)
    assert degrees.max() > 5 * degrees.float().mean()
    assert graph.content_hash == "8b420e67ca938fbb"
    small = generate(DatasetName.parse("rmat:6"))
    assert [int(mask.sum()) for mask in (small.train_mask, small.val_mask, small.test_mask)] == [40, 12, 12]


def test_a_nodes_number_says_nothing_about_its_degree() -> None:
    graph = generate(DatasetName.parse("rmat:10"))
    degrees = torch.bincount(graph.edge_index[1], minlength=1024).float()
    assert abs(torch.corrcoef(torch.stack((degrees, torch.arange(1024.0))))[0, 1]) < 0.15
