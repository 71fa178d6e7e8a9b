"""A plugin of pytest that makes half of the benchmarks slower.

Each side has a module `planting` with SHARE, the fraction of time added, and SEED, from which the half is
drawn.
"""

import functools
import hashlib
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture


def is_planted(name: str, seed: int) -> bool:
    """Return whether a benchmark belongs to the slower half."""
    return hashlib.sha256(f"{seed} {name}".encode()).digest()[0] % 2 == 0


def _slowed(share: float, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    start = time.perf_counter()
    result = function(*args, **kwargs)
    now = time.perf_counter()
    end = now + share * (now - start)
    while time.perf_counter() < end:
        pass
    return result


class _Planted(BenchmarkFixture):
    """A fixture that makes functions slower; both sides call them through the same function."""

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        import planting  # of the side

        share = planting.SHARE if is_planted(self.fullname, planting.SEED) else 0.0
        return super().__call__(functools.partial(_slowed, share, function), *args, **kwargs)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Generator[None, Any, Any]:
    """Replace pytest-benchmark's fixture by a `Slower` one."""
    fixture = yield
    if fixturedef.argname == "benchmark":
        fixture.__class__ = _Planted
    return fixture
