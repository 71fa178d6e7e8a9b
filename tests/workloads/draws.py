"""Whether what was drawn has the right distribution."""

from collections import Counter
from fractions import Fraction

from scipy import stats

DRAWS = 10_000
P = 1e-6
"""A right distribution has a smaller p-value once in a million tests; these are seeded."""


def p_value(drawn, probabilities):
    """Return the p-value of Pearson's chi-square test, 0 if an outcome is impossible."""
    counts = Counter(drawn)
    if not counts.keys() <= probabilities.keys():
        return 0.0
    assert sum(probabilities.values()) == 1
    expected = [float(probability) * counts.total() for probability in probabilities.values()]
    assert min(expected) >= 5, "chi-square needs more draws"
    return stats.chisquare([counts[outcome] for outcome in probabilities], expected).pvalue


def one_by_one(weights, count):
    """Return the probability of each set that is drawn one by one, by weight, without replacement."""
    return _sets(count, lambda chosen, _: {one: w for one, w in weights.items() if one not in chosen})


def floyd_without_the_last(size, count):
    """Return the probability of each set of 0..size - 1 that torch_sparse 0.6.18 draws.

    Floyd's algorithm draws from 0..j, for j from size - count on, and takes j if it has what it draws. Theirs
    draws from 0..j - 1, so the last ones come too seldom (pytorch_sparse#385).
    """

    def choices(chosen, step):
        j = size - count + step
        return Counter(one if one not in chosen else j for one in range(j))

    return _sets(count, choices)


def _sets(count, choices):
    found = {frozenset(): Fraction(1)}
    for step in range(count):
        after = Counter()
        for chosen, probability in found.items():
            weights = choices(chosen, step)
            total = sum(map(Fraction, weights.values()))
            for one, weight in weights.items():
                after[chosen | {one}] += probability * Fraction(weight) / total
        found = after
    return found


def uniform(outcomes):
    outcomes = list(outcomes)
    return dict.fromkeys(outcomes, Fraction(1, len(outcomes)))


def sets_by_target(source, target):
    found = {}
    for one, other in zip(source.tolist(), target.tolist(), strict=True):
        found.setdefault(other, []).append(one)
    return [frozenset(sources) for sources in found.values()]
