"""How often the search of `gnnbench bisect` finds a wrong commit, and how many pairs of processes it uses.

    python experiments/bisect/simulate.py [--runs 1000] [--effect 0.05] [--pair-sd 0.01]

One of 64 commits changes the time. Log ratios vary by 1 % between pairs and by 1 % within a pair; each
process is a third slower with probability 5 % (docs/verdict.md). Four pairs of the endpoints come first and
are not counted.

For comparison, a binary search knows the size of the change, and takes the median of a fixed number of pairs:
the smallest number with which it finds a wrong commit in at most 1 % of 20,000 runs.
"""

import argparse
import math

import numpy as np

from gnnbench.engine.judge.evidence import USUAL_PAIR_VARIANCE
from gnnbench.engine.judge.search import Observation, Search, least_change, next_position

COMMITS, ENDS, MOST_PAIRS = 64, 4, 500
FIXED_RUNS = 20_000
WITHIN_SD, SLOW, SLOW_FACTOR = 0.01, 0.05, 4 / 3


def noise(random: np.random.Generator, pair_sd: float, count: int) -> np.ndarray:
    """Return the errors of the log ratios of some pairs."""
    slow = (random.random((2, count)) < SLOW) * math.log(SLOW_FACTOR)
    return random.normal(0, math.hypot(pair_sd, WITHIN_SD), count) + slow[0] - slow[1]


def adaptive(seed: int, effect: float, pair_sd: float) -> tuple[int, bool, bool]:
    """Search once; return the number of pairs, and whether a wrong and the right commit are found."""
    random = np.random.default_rng(seed)
    culprit = int(random.integers(1, COMMITS + 1))
    change = math.log1p(effect)
    search = Search(COMMITS, least_change(0.03, change), 1 if change > 0 else -1)

    def measure(position: int) -> None:
        log_ratio = change * (position >= culprit) + float(noise(random, pair_sd, 1)[0])
        search.observations.append(Observation(position, log_ratio, USUAL_PAIR_VARIANCE + WITHIN_SD**2))

    for _ in range(ENDS):
        measure(COMMITS)
    pairs = 0
    while (found := next_position({"": search})) and pairs < MOST_PAIRS:
        measure(found[0])
        pairs += 1
    named = {one.high for one in search.changes() if one.high == one.low + 1}
    return pairs, bool(named - {culprit}), culprit in named


def fixed_size(effect: float, pair_sd: float) -> int:
    """Return the number of pairs of a binary search, whose steps take the median of equally many."""
    random = np.random.default_rng(0)
    steps, change = round(math.log2(COMMITS)), math.log1p(effect)
    for size in range(1, 200):
        # A step is wrong if the median of its errors is beyond half of the change, on one side.
        errors = np.median(
            noise(random, pair_sd, FIXED_RUNS * steps * size).reshape(FIXED_RUNS, steps, size), axis=2
        )
        if (errors > abs(change) / 2).any(axis=1).mean() <= 0.01:  # noqa: PLR2004
            return steps * size
    raise SystemExit("no fixed size is enough")


def main() -> None:
    """Print a line for the search of `gnnbench bisect`, and one for binary searches."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--effect", type=float, default=0.05)
    parser.add_argument("--pair-sd", type=float, default=0.01)
    options = parser.parse_args()
    found = [adaptive(seed, options.effect, options.pair_sd) for seed in range(options.runs)]
    pairs, wrong, right = (np.array(column) for column in zip(*found, strict=True))
    print(f"{wrong.sum()} of {len(found)} runs name a wrong commit, {right.sum()} name the right one")
    fixed = fixed_size(options.effect, options.pair_sd)
    print(f"pairs: mean {pairs.mean():.1f}, median {np.median(pairs):.0f}, most {pairs.max()}")
    print(f"samples of fixed size: {fixed} pairs; share {pairs.mean() / fixed:.2f}")


if __name__ == "__main__":
    main()
