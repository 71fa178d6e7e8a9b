"""Replaces the timing of pytest-benchmark's fixture `benchmark`: an instrument measures the call instead.

pytest-benchmark has no hook for timing, so gnnbench replaces two private methods of the fixture. Its type,
its marker, `weave`, `extra_info`, `stats`, and a suite's own fixture `benchmark` keep working.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from typing import Any, Self

from ..ground.errors import UsageError
from ..interfaces import Instrument
from .clock import Block, Call, Clock
from .conditions import collector_paused

_PARAMETERS = {
    "_raw": "self function_to_benchmark args kwargs",
    "_raw_pedantic": "self target args kwargs setup teardown rounds warmup_rounds iterations",
    "_make_stats": "self iterations",
}
"""Parameters of the methods of pytest-benchmark's fixture that gnnbench replaces or calls."""
FIXED = "benchmark.pedantic prescribes the calls"
"""Why the inputs of `benchmark.pedantic` are not copied, and why its calls have no fingerprint."""


@dataclass(frozen=True)
class Pedantic:
    """The arguments of `benchmark.pedantic`."""

    target: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    setup: Callable[[], Any] | None = None
    teardown: Callable[..., Any] | None = None
    rounds: int = 1
    warmup_rounds: int = 0
    iterations: int = 1

    @classmethod
    def of(cls, call: Call, rounds: int = 1) -> Self:
        """Return the arguments for some rounds of a call, without set-up and tear-down."""
        return cls(call.function, call.args, dict(call.kwargs), rounds=rounds)

    def measure(self, clock: Clock, add: Callable[[Block], None], *, disable_gc: bool) -> Any:
        """Time each round, pass it to `add` as a block, and return the result of the last call.

        If a round has several iterations, one more call is made for the result, as in pytest-benchmark.
        """
        result = None
        for number in range(-self.warmup_rounds, self.rounds):
            block, result = self.round(clock, disable_gc=disable_gc)
            if number >= 0:
                add(block)
        return self.once() if self.iterations > 1 else result

    def round(self, clock: Clock, *, disable_gc: bool = False) -> tuple[Block, Any]:
        """Time a round, with set-up and tear-down. Return its block, and the result if it is one call."""
        result = None

        def call_and_assign(*args: Any, **kwargs: Any) -> None:
            nonlocal result
            result = self.target(*args, **kwargs)

        call = self.next_call()
        timed_call = call if self.iterations > 1 else call._replace(function=call_and_assign)
        with collector_paused() if disable_gc else nullcontext():
            block = clock.block(timed_call, 1, self.iterations)
        self.tear_down(call)
        return block, result

    def once(self) -> Any:
        """Make a call, with set-up and tear-down, and return its result."""
        call = self.next_call()
        result = call()
        self.tear_down(call)
        return result

    def next_call(self) -> Call:
        """Run `setup`; return a call with the arguments from `setup`, or else with `args` and `kwargs`."""
        arguments_of_setup = self.setup() if self.setup else None
        if not arguments_of_setup:
            return Call(self.target, self.args, self.kwargs)
        if self.args or self.kwargs:
            raise TypeError("Can't use `args` or `kwargs` if `setup` returns the arguments.")
        args, kwargs = arguments_of_setup
        return Call(self.target, args, kwargs)

    def tear_down(self, call: Call) -> None:
        if self.teardown:
            self.teardown(*call.args, **call.kwargs)


@contextmanager
def replace_timing(choose: Callable[[Any], Instrument | None]) -> Iterator[None]:
    """Return a context in which instruments replace the timing of the fixture. Such contexts can be nested.

    `choose`: returns the instrument for a fixture. If it returns None, the outer context times the call.
    """
    from pytest_benchmark.fixture import BenchmarkFixture as Fixture

    raw, pedantic = Fixture._raw, Fixture._raw_pedantic  # noqa: SLF001

    @wraps(raw)
    def _raw(self: Any, function_to_benchmark: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if instrument := choose(self):
            return instrument.measure(self, Call(function_to_benchmark, args, kwargs))
        return raw(self, function_to_benchmark, *args, **kwargs)

    @wraps(pedantic)
    def _raw_pedantic(self: Any, target: Callable[..., Any], **options: Any) -> Any:
        instrument = choose(self)
        if instrument is None or not _is_valid(**options):
            return pedantic(self, target, **options)
        options["kwargs"] = options.get("kwargs") or {}
        return instrument.measure_pedantic(self, Pedantic(target, **options))

    Fixture._raw, Fixture._raw_pedantic = _raw, _raw_pedantic  # noqa: SLF001
    try:
        yield
    finally:
        Fixture._raw, Fixture._raw_pedantic = raw, pedantic  # noqa: SLF001


def pause_tracing() -> AbstractContextManager[object]:
    """Return a context in which tracers and profilers, such as coverage's, are paused."""
    from pytest_benchmark import fixture

    context: AbstractContextManager[object] = fixture.PauseInstrumentation()
    return context


def check_pytest_benchmark() -> None:
    """Check that pytest-benchmark has the methods that gnnbench relies on."""
    import pytest_benchmark
    from pytest_benchmark.fixture import BenchmarkFixture as Fixture

    for name, parameters in _PARAMETERS.items():
        method = getattr(Fixture, name, None)
        if not method or " ".join(inspect.signature(method).parameters) != parameters:
            raise UsageError(
                f"gnnbench cannot time with pytest-benchmark {pytest_benchmark.__version__}, whose "
                f"BenchmarkFixture.{name} has changed; run pip install 'pytest-benchmark>=5.2,<6'"
            )


def whole_call_reason(reason: str) -> str:
    """Return why a benchmark with the marker `whole_call` has no counters and no fingerprint."""
    return f"each call is timed as a whole ({reason})"


def _is_valid(*, rounds: Any, warmup_rounds: Any, iterations: Any, setup: Any, **_options: Any) -> bool:
    """Return whether pytest-benchmark accepts these options."""
    minimums = (rounds, 1), (warmup_rounds, 0), (iterations, 1)
    if any(not isinstance(number, int) or number < minimum for number, minimum in minimums):
        return False
    return iterations == 1 or not setup
