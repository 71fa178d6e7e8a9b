"""Histories whose truth is known."""

import numpy as np
from scipy import signal

SD = 0.0125
DEPENDENCE = 0.2
ODD, ODD_FACTOR = 0.02, 1.3


def history(seed, runs, *, sd=SD, odd=ODD, level=0.0, spread=1.0):
    """Return log times in ns: autoregressive noise, some runs of which are 1.3x slower, about a level.

    Args:
        seed: a number, or several.
        runs: how many.
        sd: of a run's log time.
        odd: share of the odd runs.
        level: added to the log times [runs].
        spread: factor of the noise [runs].
    """
    random = np.random.default_rng(seed)
    drawn = random.normal(size=runs + 50)
    noise = signal.lfilter([1.0], [1.0, -DEPENDENCE], drawn)[50:] * np.sqrt(1 - DEPENDENCE**2)
    return np.log(1e6) + level + sd * spread * noise + np.log(ODD_FACTOR) * (random.random(runs) < odd)


def step(runs, at, size=0.04):
    """Return a level that is higher from a run on."""
    return np.log1p(size) * (np.arange(runs) >= at)


def noisier(runs, at, factor=4.0):
    """Return a spread that is larger from a run on."""
    return np.where(np.arange(runs) >= at, factor, 1.0)
