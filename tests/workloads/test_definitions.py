"""The reference against definitions on dense matrices, written in NumPy."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from gnnbench.suite import definitions
from gnnbench.suite.operations import REFERENCES


@pytest.fixture(scope="module")
def dense(small_graph):
    """Matrices with targets as rows: ones, weights, and both with self-loops."""
    source, target = small_graph.edge_index.numpy()
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 1.5, len(source))
    ones, weights, eye = np.zeros((60, 60)), np.zeros((60, 60)), np.eye(60)
    ones[target, source], weights[target, source] = 1, weight
    return SimpleNamespace(
        weight=torch.from_numpy(weight),
        x=rng.standard_normal((60, 6)),
        ones=ones,
        weights=weights,
        looped=ones + eye,
        looped_weights=weights + eye,
    )


def normal(matrix, columns=None):
    rows = matrix.sum(1)
    return rows[:, None] ** -0.5 * matrix * (rows if columns is None else columns) ** -0.5


def rows_reduced(matrix, x, reduce):
    return np.stack([reduce(x[row > 0], axis=0) if row.any() else np.zeros(x.shape[1]) for row in matrix])


MATRICES = {
    "add_remaining_self_loops": lambda dense: dense.looped_weights,
    "gcn_norm": lambda dense: normal(dense.looped_weights),
    "edge_weight_norm": lambda dense: normal(dense.looped_weights, dense.looped_weights.sum(0)),
}
PRODUCTS = {
    "spmm_sum": lambda dense: dense.ones @ dense.x,
    "spmm_mean": lambda dense: rows_reduced(dense.ones, dense.x, np.mean),
    "spmm_max": lambda dense: rows_reduced(dense.ones, dense.x, np.max),
    "aggregate": lambda dense: dense.looped @ dense.looped @ dense.x,
    "degree_norm": lambda dense: np.maximum(dense.ones.sum(1), 1) ** -0.5,
    "update_all_u_mul_e_sum": lambda dense: dense.weights @ dense.x,
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_and_their_gradients(small_graph, dense, name):
    def values(weight):
        return getattr(REFERENCES, name)(small_graph, weight).coalesce().values()

    found = getattr(REFERENCES, name)(small_graph, dense.weight)
    np.testing.assert_allclose(found.to_dense().numpy(), MATRICES[name](dense), rtol=1e-13)
    assert found.is_coalesced()
    assert found._nnz() == small_graph.num_edges + 60
    assert gradcheck(values, dense.weight.clone().requires_grad_(), fast_mode=True)


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("chunk_bytes", [definitions.CHUNK_BYTES, 8 * 250 * 4, 1])
def test_products_and_their_gradients(monkeypatch, small_graph, dense, name, chunk_bytes):
    monkeypatch.setattr(definitions, "CHUNK_BYTES", chunk_bytes)
    assert (dense.ones.sum(1) == 0).any(), "an isolated node gets zeros"
    inputs = torch.from_numpy(dense.x), *([dense.weight] if name == "update_all_u_mul_e_sum" else [])

    def found(*given):
        return getattr(REFERENCES, name)(small_graph, *given)

    np.testing.assert_allclose(found(*inputs).numpy(), PRODUCTS[name](dense), rtol=1e-12, atol=1e-13)
    if name != "degree_norm":
        assert gradcheck(found, [one.clone().requires_grad_() for one in inputs], fast_mode=True)


@pytest.fixture(scope="module")
def network():
    """Weights and biases of a 6, 5, 5, 4 network, and x."""
    generator = torch.Generator().manual_seed(2)
    shapes = ((6, 5), (5, 5), (5, 4), (5,), (5,), (4,), (60, 6))
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


@pytest.fixture(scope="module")
def logits(dense, network):
    """What the network returns, from dense matrices."""
    *parameters, h = (tensor.numpy() for tensor in network)
    for weight, bias in zip(parameters[:3], parameters[3:], strict=True):
        h = normal(dense.looped) @ h @ weight + bias
        found, h = h, np.maximum(h, 0)
    return found


def test_convolution_and_network(small_graph, dense, network, logits):
    weight, bias, x = network[0], network[3], network[-1]
    expected = normal(dense.looped) @ (x.numpy() @ weight.numpy()) + bias.numpy()
    found = REFERENCES.conv(small_graph, weight, bias, x)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-13)
    found = REFERENCES.epoch_forward(small_graph, *network)
    np.testing.assert_allclose(found.numpy(), logits, rtol=1e-11, atol=1e-12)
    torch.testing.assert_close(REFERENCES.linear(small_graph, weight, x), x @ weight)


def test_loss_is_over_training_nodes(small_graph, multi_label_graph, network, logits):
    train, y = small_graph.train_mask.numpy(), small_graph.y.numpy()
    probability = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = -np.log(probability[np.arange(60), y][train]).mean()
    assert float(REFERENCES.epoch(small_graph, *network)) == pytest.approx(expected, rel=1e-12)
    probability, y = 1 / (1 + np.exp(-logits)), multi_label_graph.y.numpy()
    expected = -np.log(np.where(y > 0, probability, 1 - probability))[train].mean()
    assert float(REFERENCES.epoch(multi_label_graph, *network)) == pytest.approx(expected, rel=1e-12)
    inputs = [tensor.clone().requires_grad_() for tensor in network]
    assert gradcheck(lambda *tensors: REFERENCES.epoch(small_graph, *tensors), inputs, fast_mode=True)
