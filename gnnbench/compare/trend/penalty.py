"""The penalty of a change: how strong the strongest is where there is none, by permutation.

A standardised series without changes has a strongest change that depends on its length alone. So penalties
are simulated once for a length, and kept.
"""

import json
import math
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from ...errors import UsageError
from ...files import hold, write_whole
from . import changes, noise, spread

Array = NDArray[np.float64]

FORMAT_VERSION = 1
LEVEL_SHORTEST = 5
"""Runs of a level: of fewer, outliers cannot be told."""
SHORTEST_SERIES = 12
"""Runs that can be judged."""

_SEED = 20_210_611
_HISTORIES = 1_000
_MORE_HISTORIES = 200_000
"""Over the length: short histories are cheap, and their tail is long."""
_TAIL = 0.05
"""Part of the permutations by which the tail is told."""
_MOST_AT_ONCE = 2
_MOST_DEPENDENCE = 0.5
"""Of the permuted histories: autoregressive, with a coefficient drawn from 0 to this."""
_FREEDOM = 4.0
"""Of Student's t, whose quantiles are permuted: real histories have longer tails than the normal one."""
_STEP = 1.25
"""Lengths of which each has the penalty of the longest are apart by this factor."""


@dataclass(frozen=True)
class Tail:
    """How strong a change comes of chance."""

    threshold: float
    """Exceeded in `_TAIL` of the histories."""
    scale: float
    """By which the strength beyond that is exponential."""

    def penalty(self, level: float) -> float:
        """Return the strength that is exceeded with this probability, below `_TAIL`."""
        return self.threshold + self.scale * math.log(_TAIL / level)


@dataclass(frozen=True)
class Penalty:
    """Of histories of one length."""

    level: Tail
    """Of a change of level, in units of the noise's squares."""
    spread: Tail
    """Of a change of spread, of the scores in `spread.scores`."""


def rounded(length: int) -> int:
    """Return the length whose penalty a history of this length has: the next longer of a few."""
    found = SHORTEST_SERIES
    while found < length:
        found = math.ceil(found * _STEP)
    return found


def calibrate(length: int) -> Penalty:
    """Measure the strongest change of permuted histories, in which nothing changes but by chance."""
    random = np.random.default_rng([_SEED, length])
    strengths = np.array(
        [_strengths(_permuted(length, random)) for _ in range(_HISTORIES + _MORE_HISTORIES // length)]
    )
    return Penalty(*(_tail(column) for column in strengths.T))


def _permuted(length: int, random: np.random.Generator) -> Array:
    quantiles = stats.t.ppf((np.arange(length) + 0.5) / length, _FREEDOM)
    coefficient = random.uniform(0, _MOST_DEPENDENCE)
    # Scaled to where the least noise does not matter.
    return np.asarray(signal.lfilter([1.0], [1.0, -coefficient], random.permutation(quantiles)))


def _strengths(logs: Array) -> tuple[float, float]:
    values = noise.winsorized(logs, [slice(None)])
    of_level = changes.strongest(
        values / noise.estimate(values).unit, _at_once(logs, LEVEL_SHORTEST), LEVEL_SHORTEST
    )
    of_spread = 0.0
    if most := _at_once(logs, spread.SHORTEST):
        of_spread = changes.strongest(spread.scores(logs - np.median(logs)), most, spread.SHORTEST)
    return of_level, of_spread


def _at_once(logs: Array, shortest: int) -> int:
    return min(_MOST_AT_ONCE, len(logs) // shortest - 1)


def _tail(strengths: Array) -> Tail:
    threshold = float(np.quantile(strengths, 1 - _TAIL))
    beyond = strengths[strengths > threshold] - threshold
    return Tail(threshold, float(beyond.mean()) if len(beyond) else 0.0)


@dataclass
class Penalties:
    """Those that were calibrated before, in a file of the cache folder, and those that are needed now."""

    cache: Path
    known: dict[int, Penalty] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file, whether it is there or not."""
        return self.cache / "trend" / "penalties.json"

    def prepare(self, lengths: Collection[int], progress: Callable[[int, int], None]) -> None:
        """Have penalties for these lengths, calibrating those that were never needed before.

        Args:
            lengths: of histories.
            progress: is told how many have been calibrated, of how many.

        Raises:
            UsageError: the cache cannot be written.
        """
        wanted = {rounded(length) for length in lengths}
        self.known = self._read()
        missing = sorted(wanted - self.known.keys())
        for number, length in enumerate(missing):
            progress(number, len(missing))
            self._keep(length, calibrate(length))

    def get(self, length: int) -> Penalty:
        """Return that for a length, which has been prepared."""
        return self.known[rounded(length)]

    def _keep(self, length: int, found: Penalty) -> None:
        with hold(self.path.with_suffix(".lock"), self.cache):
            self.known = {**self._read(), **self.known, length: found}
            content = {
                "version": FORMAT_VERSION,
                "penalties": {str(length): asdict(one) for length, one in sorted(self.known.items())},
            }
            try:
                write_whole(self.path, json.dumps(content, indent=1) + "\n")
            except OSError as error:
                raise UsageError(f"{self.path} cannot be written ({error.strerror})") from None

    def _read(self) -> dict[int, Penalty]:
        """Return what is kept; nothing where the file is damaged or of another version."""
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            if content["version"] != FORMAT_VERSION:
                return {}
            return {
                int(length): Penalty(
                    *(
                        Tail(**{key: float(tail[key]) for key in ("threshold", "scale")})
                        for tail in (one["level"], one["spread"])
                    )
                )
                for length, one in content["penalties"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}
