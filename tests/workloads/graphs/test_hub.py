import numpy as np
import torch

from gnnbench.workloads.graphs.catalog import DatasetName
from gnnbench.workloads.graphs.graph import Graph
from gnnbench.workloads.graphs.hub import generate


def _degrees(graph: Graph) -> torch.Tensor:
    return torch.bincount(graph.edge_index[1], minlength=graph.num_nodes)


def test_counts_are_exact_and_bytes_the_same_on_every_machine() -> None:
    graph = generate(DatasetName.parse("hub:10"))
    assert (graph.name, graph.synthetic) == ("hub:10", True)
    assert (graph.num_nodes, graph.num_edges, graph.num_features) == (1024, 2 * 8 * 1024, 128)
    assert (graph.num_classes, graph.edge_type, graph.relations) == (16, None, ())
    assert graph.content_hash == "186243a0341e7dca"
    assert generate(DatasetName.parse("hub:10"), seed=1).content_hash != graph.content_hash


def test_a_tenth_of_the_edges_lead_to_the_hub() -> None:
    for scale in (6, 12):
        graph = generate(DatasetName.parse(f"hub:{scale}"))
        pairs = graph.num_edges // 2
        hub, second = _degrees(graph).sort(descending=True).values[:2].tolist()
        assert hub == pairs // 10
        assert scale == 6 or hub > 7 * second


def test_the_other_degrees_follow_a_power_law_with_exponent_three() -> None:
    degrees = _degrees(generate(DatasetName.parse("hub:14"))).sort(descending=True).values[1:].numpy()
    rank = np.arange(1, len(degrees) + 1)
    # Of N nodes, N / k**2 have more than k neighbours: the slope of rank over degree is -2.
    tail = slice(10, 2000)
    slope = np.polyfit(np.log(degrees[tail]), np.log(rank[tail]), 1)[0]
    assert -2.2 < slope < -1.8


def test_a_nodes_number_says_nothing_about_its_degree() -> None:
    degrees = _degrees(generate(DatasetName.parse("hub:10"))).clamp(max=60).float()
    assert abs(torch.corrcoef(torch.stack((degrees, torch.arange(1024.0))))[0, 1]) < 0.15
