"""A plugin of pytest that makes half of the benchmarks slower, of the side whose variable PLANTED is set.

PLANTED is a share and a seed, as in `0.1:3`. Which half is drawn from the seed and each benchmark's id.
"""

import functools
import hashlib
import os
import time
from collections.abc import Callable
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

_call = BenchmarkFixture.__call__


def is_planted(name: str, seed: str) -> bool:
    """Whether a benchmark belongs to the slower half."""
    return hashlib.sha256(f"{seed} {name}".encode()).digest()[0] % 2 == 0


def _slowed(share: float, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    start = time.perf_counter()
    result = function(*args, **kwargs)
    now = time.perf_counter()
    end = now + share * (now - start)
    while time.perf_counter() < end:
        pass
    return result


def _benchmark(self: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    share, _, seed = os.environ.get("PLANTED", "0:").partition(":")
    # Both sides call through the same function, so that they differ in nothing else.
    slower = float(share) if is_planted(self.fullname, seed) else 0.0
    return _call(self, functools.partial(_slowed, slower, function), *args, **kwargs)


BenchmarkFixture.__call__ = _benchmark  # type: ignore[method-assign]
