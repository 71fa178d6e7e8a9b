"""The strongest step that appears by chance: the numbers of gnnbench/compare/trend/steps.py.

    python experiments/trend/penalties.py          about five minutes

For each length, series without steps are simulated. Their values are the quantiles of Student's t with
4 degrees of freedom in random order, because real histories have long tails, made autoregressive with a
coefficient from 0 to 0.5. Steps are looked for as in the command: the noise is estimated, too.
"""

import argparse
import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from gnnbench.compare.trend import steps
from gnnbench.compare.trend.steps import LONGEST, TAIL

Array = NDArray[np.float64]

HISTORIES, MORE_HISTORIES = 1_000, 200_000
"""Simulated series; the second is divided by the length: short ones are cheap, and have a long tail."""
_SEED = 20_210_611
_MOST_AT_ONCE = 2
_MOST_DEPENDENCE = 0.5
_FREEDOM = 4.0
_SHORTEST_OF_RANKS = 8
"""Least number of runs of a level for the evidence of ranks."""


def lengths() -> Iterator[int]:
    """Yield the lengths of the table: each is 1.25 times the one before."""
    length = steps.SHORTEST_SERIES
    while length <= LONGEST:
        yield length
        length = math.ceil(length * 1.25)


def tails(length: int) -> list[float]:
    """Return a row of the table: threshold and mean excess, of the squared error and of ranks."""
    random = np.random.default_rng([_SEED, length])
    count = HISTORIES + MORE_HISTORIES // length
    strengths = np.array([_strengths(permuted(length, random)) for _ in range(count)])
    return [number for column in strengths.T for number in tail(column)]


def tail(strengths: Array) -> tuple[float, float]:
    """Return what a share TAIL exceeds, and by how much on average."""
    threshold = float(np.quantile(strengths, 1 - TAIL))
    beyond = strengths[strengths > threshold] - threshold
    return threshold, float(beyond.mean()) if len(beyond) else 0.0


def permuted(length: int, random: np.random.Generator) -> Array:
    """Return a series without steps [length]."""
    quantiles = stats.t.ppf((np.arange(length) + 0.5) / length, _FREEDOM)
    coefficient = random.uniform(0, _MOST_DEPENDENCE)
    # On this scale `steps.LEAST` has no effect.
    return np.asarray(signal.lfilter([1.0], [1.0, -coefficient], random.permutation(quantiles)))


def _strengths(logs: Array) -> tuple[float, float]:
    values = steps.winsorized(logs)
    # Normal scores have one distribution, whatever the values are.
    ranks = steps.normal_scores(np.abs(logs - np.median(logs)))
    return strongest(values / steps.long_run_sd(values), steps.SHORTEST), strongest(ranks, _SHORTEST_OF_RANKS)


def strongest(values: Array, shortest: int) -> float:
    """Return the least penalty at which neither one nor two steps are found; 0: the series is too short.

    Args:
        values: [n].
        shortest: least number of runs of a level.
    """
    most = min(_MOST_AT_ONCE, len(values) // shortest - 1)
    if not most:
        return 0.0
    model = steps.fitted(values, shortest)
    model.predict(n_bkps=most)  # also finds the best of each smaller number
    return max(_saved(values, model.predict(n_bkps=count)) / count for count in range(1, most + 1))


def _saved(values: Array, ends: list[int]) -> float:
    """Return by how much steps reduce the squared error."""
    return _squares(values) - sum(_squares(values[start:end]) for start, end in pairwise([0, *ends]))


def _squares(values: Array) -> float:
    return float(((values - values.mean()) ** 2).sum())


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    for one in lengths():
        print(f"    {one}: ({', '.join(f'{number:.4f}' for number in tails(one))}),", flush=True)
