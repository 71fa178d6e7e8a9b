"""The penalty of a change, by permutation: how strong a change appears by chance.

In a standardised series without changes this depends on the length alone. So penalties are simulated once
for each length, and cached.
"""

import json
import math
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from ... import json_io
from ...errors import UsageError
from ...files import hold, write_whole
from . import changes, noise, spread

Array = NDArray[np.float64]

FORMAT_VERSION = 1
_MAX_BYTES = 2**20
LEVEL_SHORTEST = 5
"""Least number of runs of a level; fewer may be outliers."""
SHORTEST_SERIES = 12
"""Least number of runs of a series that is examined."""

_SEED = 20_210_611
_HISTORIES = 1_000
_MORE_HISTORIES = 200_000
"""Divided by the length: short histories are cheap, and have a long tail."""
_TAIL = 0.05
"""Share of the permutations from which the tail is estimated."""
_MOST_AT_ONCE = 2
_MOST_DEPENDENCE = 0.5
"""Permuted histories are autoregressive, with a coefficient from 0 to this."""
_FREEDOM = 4.0
"""Degrees of freedom of Student's t, whose quantiles are permuted: real histories have long tails."""
_STEP = 1.25
"""Factor between the lengths that are simulated; other lengths use the next longer one."""


@dataclass(frozen=True)
class Tail:
    """Exponential tail of the strongest change of histories without changes."""

    threshold: float
    """Strength that is exceeded in `_TAIL` of the histories."""
    scale: float
    """Mean excess over the threshold."""

    def penalty(self, level: float) -> float:
        """Return the strength that is exceeded with probability `level`, which is below `_TAIL`."""
        return self.threshold + self.scale * math.log(_TAIL / level)


@dataclass(frozen=True)
class Penalty:
    """The penalties for histories of one length."""

    level: Tail
    """For a change of level, in units of the noise's variance."""
    spread: Tail
    """For a change of spread, in units of `spread.scores`."""


def rounded(length: int) -> int:
    """Return the simulated length that is used for a history of this length."""
    found = SHORTEST_SERIES
    while found < length:
        found = math.ceil(found * _STEP)
    return found


def calibrate(length: int) -> Penalty:
    """Simulate the strongest change of permuted histories."""
    random = np.random.default_rng([_SEED, length])
    strengths = np.array(
        [_strengths(_permuted(length, random)) for _ in range(_HISTORIES + _MORE_HISTORIES // length)]
    )
    return Penalty(*(_tail(column) for column in strengths.T))


def _permuted(length: int, random: np.random.Generator) -> Array:
    quantiles = stats.t.ppf((np.arange(length) + 0.5) / length, _FREEDOM)
    coefficient = random.uniform(0, _MOST_DEPENDENCE)
    # On this scale `noise.LEAST` has no effect.
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
    """Penalties by length, cached in a file of the cache folder."""

    cache: Path
    known: dict[int, Penalty] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file; it may not exist yet."""
        return self.cache / "trend" / "penalties.json"

    def prepare(self, lengths: Collection[int], progress: Callable[[int, int], None]) -> None:
        """Load the penalties for these lengths; simulate and cache missing ones.

        Args:
            lengths: lengths of histories.
            progress: called with the number of lengths simulated and to simulate.

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
        """Return the penalty for a length given to `prepare`."""
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
        """Return the cached penalties; none if the file is damaged or of another version."""
        try:
            content, _ = json_io.read(self.path, "cache", _MAX_BYTES, "remove it")
            if content["version"] != FORMAT_VERSION:
                return {}
            return {
                int(length): Penalty(
                    *(
                        Tail(**{key: json_io.finite(tail[key]) for key in ("threshold", "scale")})
                        for tail in (one["level"], one["spread"])
                    )
                )
                for length, one in content["penalties"].items()
            }
        except (UsageError, ValueError, KeyError, TypeError, AttributeError):
            return {}
