"""The algorithm once more, on dense float64 matrices, and without a line of the package's."""

import math

import numpy as np
from scipy.special import loggamma
from scipy.stats import norm


def matrix(edges, kept=None):
    """Return A [n, n]: the number of kept entries from each source (column) to each target (row)."""
    found = np.zeros((edges.num_nodes, edges.num_nodes))
    weights = np.ones(edges.num_edges) if kept is None else np.asarray(kept, dtype=float)
    np.add.at(found, (edges.target.numpy(), edges.source.numpy()), weights)
    return found


def aggregate(adjacency, x):
    """Return (A + I)² x."""
    return np.linalg.matrix_power(adjacency + np.eye(len(adjacency)), 2) @ x


def changes(edges, kept_edges, kept_nodes):
    """Return δ_E and δ_V: [2, n]."""
    ones = np.ones(edges.num_nodes)
    whole = aggregate(matrix(edges), ones)
    by_edges = 1 - aggregate(matrix(edges, kept_edges), ones) / whole
    by_nodes = 1 - aggregate(matrix(edges), np.asarray(kept_nodes, dtype=float)) / whole
    return np.stack((by_edges, by_nodes))


def uncertainty(logits):
    """Return the normalised entropy of each row's softmax."""
    logits = np.asarray(logits, dtype=np.float64)
    share = np.exp(logits - logits.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    return -(share * np.log(share)).sum(axis=1) / math.log(logits.shape[1])


def log_target(delta, h, settings):
    """Return log p of changes [2, n]."""
    total = 0.0
    for v in range(len(h)):
        for column, part in enumerate((settings.edges, settings.nodes)):
            s = part.scale * h[v] + part.offset
            total += -part.weight * (delta[column, v] - part.mean) ** 2 / (2 * s**2)
    return total


def log_truncated(y, x, sigma):
    """Return the log-density at y of a normal around x, cut off outside [0, 1]."""
    mass = norm.cdf((1 - x) / sigma) - norm.cdf(-x / sigma)
    return norm.logpdf(y, x, sigma) - math.log(mass)


def log_proposal(to, at, counts, settings):
    """Return log q(to | at)."""
    total = 0.0
    for y, x, count, part in zip(to, at, counts, (settings.edges, settings.nodes), strict=True):
        a, b = count * (1 - y) + 1, count * y + 1
        total += log_truncated(y, x, part.sigma)
        total += settings.count_weight * (loggamma(a) + loggamma(b) - loggamma(a + b))
    return float(total)


def drop_counts(at, uniform, counts, settings):
    """Return ⌊M Δ*⌋ of edges and of nodes."""
    found = []
    for x, u, count, part in zip(at, uniform, counts, (settings.edges, settings.nodes), strict=True):
        low, high = norm.cdf(-x / part.sigma), norm.cdf((1 - x) / part.sigma)
        found.append(math.floor(count * (x + part.sigma * norm.ppf(low + u * (high - low)))))
    return found
