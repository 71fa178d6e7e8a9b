"""What does the fingerprint add to counting? A pytest plugin.

    PYTHONPATH=experiments/same_code pytest -p cost benchmarks --gnn-dataset cora

Counts each benchmark with and without taking its fingerprint, in turns, instead of timing it. The summary has
the sum of the fastest times of all benchmarks, with and without.
"""

from collections.abc import Callable
from time import process_time
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from gnnbench.engine.measure.clock import Call
from gnnbench.engine.measure.counters import count
from gnnbench.engine.measure.fingerprint.fingerprint import Watch
from gnnbench.engine.measure.layouts import Layouts

_TURNS = 4
_seconds: list[tuple[float, float]] = []
"""Of each benchmark: counting alone, and with the fingerprint."""


def pytest_runtestloop() -> None:
    """Replace the timing, gnnbench's and pytest-benchmark's."""

    def only_count(_self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        call = Call(function, args, kwargs)
        if not Layouts(call).devices:
            return call()

        def watched() -> None:
            watch = Watch(call)
            count(call.__call__, watch=watch)
            watch.fingerprint()

        pairs = [(_timed(lambda: count(call.__call__)), _timed(watched)) for _ in range(_TURNS)]
        alone, both = zip(*pairs, strict=True)
        _seconds.append((min(alone), min(both)))
        return call()

    BenchmarkFixture._raw = only_count  # type: ignore[assignment]  # noqa: SLF001


def _timed(run: Callable[[], object]) -> float:
    """Return the CPU time of a call, which other programs disturb less than its duration."""
    start = process_time()
    run()
    return process_time() - start


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the sums."""
    alone, both = (sum(column) for column in zip(*_seconds, strict=True))
    terminalreporter.write_line(
        f"{len(_seconds)} benchmarks: counting {alone:.2f} s, with fingerprints {both:.2f} s: "
        f"{both / alone - 1:+.1%}"
    )
