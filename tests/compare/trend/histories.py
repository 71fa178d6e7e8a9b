"""Histories whose truth is known."""

import numpy as np
from scipy import signal

SD = 0.0125
DEPENDENCE = 0.2
ODD, ODD_FACTOR = 0.02, 1.3


def history(seed, runs, *, sd=SD, dependence=DEPENDENCE, odd=ODD, level=0.0, spread=1.0, tails=None):
    """Return log times in ns: autoregressive noise, some runs of which are 1.3x slower, about a level.

    Args:
        seed: a number, or several.
        runs: how many.
        sd: of a run's log time.
        dependence: correlation of a run with the next.
        odd: share of the odd runs.
        level: added to the log times [runs].
        spread: factor of the noise [runs].
        tails: degrees of freedom of Student's t, in the place of the normal distribution.
    """
    random = np.random.default_rng(seed)
    drawn = random.normal(size=runs + 50) if tails is None else random.standard_t(tails, runs + 50)
    noise = signal.lfilter([1.0], [1.0, -dependence], drawn)[50:] * np.sqrt(1 - dependence**2)
    return np.log(1e6) + level + sd * spread * noise + np.log(ODD_FACTOR) * (random.random(runs) < odd)


def step(runs, at, size=0.04):
    """Return a level that is higher from a run on."""
    return np.log1p(size) * (np.arange(runs) >= at)


def noisier(runs, at, factor=4.0):
    """Return a spread that is larger from a run on."""
    return np.where(np.arange(runs) >= at, factor, 1.0)
