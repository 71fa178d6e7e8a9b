"""The chain as a Markov chain: its transitions on a graph that is small enough to enumerate."""

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from scipy.stats import chi2, norm

from gnnbench.workloads.mhaug import chain, variants
from gnnbench.workloads.mhaug.settings import Part, Settings
from tests.workloads.mhaug import dense

SETTINGS = Settings(
    edges=Part(mean=0.3, sigma=0.4, scale=0.2, offset=0.15),
    nodes=Part(mean=0.4, sigma=0.5, scale=0.3, offset=0.2),
)
PATH = chain.edges_of(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3)
UNCERTAINTY = torch.tensor([0.2, 0.9, 0.5], dtype=torch.float64)
LEVEL = 0.001
"""Of the chi-square tests: with the seeds as they are, a chain that is right passes for good."""


def states():
    """Return every state of the path: what is kept of four entries, and of three nodes."""
    return [
        (np.array(edges), np.array(nodes))
        for edges in itertools.product((False, True), repeat=4)
        for nodes in itertools.product((False, True), repeat=3)
    ]


def chance_to_drop(count, x, sigma):
    """Return the probability of each number of dropped, 0 to count, from where the share x is dropped."""
    ends = np.append(np.arange(count + 1) / count, 1)
    cumulative = norm.cdf((ends - x) / sigma)
    return np.diff(cumulative) / (cumulative[-1] - cumulative[0])


def transitions(settings=SETTINGS):
    """Return the matrix of transition probabilities [128, 128], and log p of each state."""
    every = states()
    log_p = [dense.log_target(dense.changes(PATH, *state), UNCERTAINTY.numpy(), settings) for state in every]
    share = [(1 - edges.mean(), 1 - nodes.mean()) for edges, nodes in every]

    @cache
    def log_q(to, at):
        return dense.log_proposal(to, at, (4, 3), settings)

    @cache
    def chosen(at, part, count):
        """Return the probability of each set of so many of count, by how many are dropped."""
        ways = [math.comb(count, gone) for gone in range(count + 1)]
        return chance_to_drop(count, at, part.sigma) / ways

    matrix = np.zeros((len(every), len(every)))
    for i, j in itertools.product(range(len(every)), repeat=2):
        proposed = math.prod(
            chosen(at, part, len(kept))[int((~kept).sum())]
            for kept, at, part in zip(every[j], share[i], settings.parts, strict=True)
        )
        ratio = log_p[j] - log_p[i] - log_q(share[j], share[i]) + log_q(share[i], share[j])
        matrix[i, j] = proposed * min(1.0, math.exp(ratio))
    matrix[np.diag_indices(len(every))] += 1 - matrix.sum(axis=1)
    return matrix, np.array(log_p)


def index(state):
    """Return the number of a state in the list of all."""
    bits = [*state.kept_edges.tolist(), *state.kept_nodes.tolist()]
    return int("".join(str(int(bit)) for bit in bits), 2)


@pytest.mark.parametrize("steps", [5000, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_transitions_are_those_of_the_enumerated_matrix(steps):
    """Chi-square over the rows that were left most often; cells that expect fewer than five are pooled."""
    expected, _ = transitions()
    assert np.allclose(expected.sum(axis=1), 1)
    generator = torch.Generator().manual_seed(3)
    state, propose = variants.prepare("optimised", "torch", PATH, torch.zeros(3, 1), SETTINGS)
    seen = np.zeros_like(expected)
    for _ in range(steps):
        before = index(state)
        proposal = propose(state, chain.draw(PATH, generator), UNCERTAINTY)
        if proposal.accepted:
            state = proposal.state
        seen[before, index(state)] += 1
    statistic, freedom = 0.0, 0
    for row, counts in zip(expected, seen, strict=True):
        wanted = row * counts.sum()
        often = wanted >= 5
        groups = [*np.flatnonzero(often)]
        pooled = wanted[~often].sum()
        statistic += sum((counts[j] - wanted[j]) ** 2 / wanted[j] for j in groups)
        if pooled >= 5:
            statistic += (counts[~often].sum() - pooled) ** 2 / pooled
            groups.append(-1)
        freedom += max(len(groups) - 1, 0)
    assert freedom > 50
    assert statistic < chi2.ppf(1 - LEVEL, freedom)


def distance_to_target(settings):
    """Return the total variation distance between the chain's stationary distribution and the target."""
    matrix, log_p = transitions(settings)
    stationary = np.linalg.matrix_power(matrix, 4000)[0]
    np.testing.assert_allclose(stationary @ matrix, stationary, atol=1e-12)
    target = np.exp(log_p - log_p.max())
    return abs(stationary - target / target.sum()).sum() / 2


@pytest.mark.nightly
def test_long_run_is_the_matrixs_own_and_not_the_target():
    """docs/mh-aug.md has the figures: λ2 = 0 leaves out the number of ways to choose what is kept."""
    assert distance_to_target(SETTINGS) == pytest.approx(0.267, abs=0.001)
    assert distance_to_target(replace(SETTINGS, count_weight=1.0)) == pytest.approx(0.122, abs=0.001)


def test_loops_and_duplicates_are_not_counted():
    messy = torch.tensor([[0, 1, 1, 2, 2, 1, 0], [1, 0, 2, 1, 2, 0, 0]])
    edges = chain.edges_of(messy, 3)
    assert edges.source.tolist() == PATH.source.tolist()
    assert edges.target.tolist() == PATH.target.tolist() == sorted(PATH.target.tolist())


def test_uncertainty_is_the_normalised_entropy():
    logits = 3 * torch.randn(40, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    np.testing.assert_allclose(chain.uncertainty(logits), dense.uncertainty(logits), rtol=1e-12)


def test_one_class_leaves_no_uncertainty():
    assert chain.uncertainty(torch.randn(5, 1)).tolist() == [0] * 5


def test_uncertainty_is_one_where_classes_tie_and_zero_where_one_is_sure():
    logits = torch.tensor([[3.0, 3.0, 3.0], [0.0, 5000.0, 0.0]])
    assert chain.uncertainty(logits).tolist() == pytest.approx([1, 0])


@pytest.mark.parametrize("kept", [0, 2, 3])
def test_kept_features_are_scaled_up_and_all_zero_where_nothing_is(kept):
    mask = torch.arange(3) < kept
    expected = [3 / kept] * kept if kept else []
    assert chain.row_scale(mask).tolist() == expected + [0] * (3 - kept)
