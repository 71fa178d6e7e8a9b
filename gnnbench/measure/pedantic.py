"""`benchmark.pedantic`: makes exactly the calls that were asked for, on the given inputs."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Self

from .clock import Block, Call, Clock
from .conditions import collector_paused

FIXED = "benchmark.pedantic fixes the calls"
"""Why its inputs are not copied, and why no further call is traced."""


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
        """Return the arguments for calls that need neither set-up nor tear-down."""
        return cls(call.function, call.args, dict(call.kwargs), rounds=rounds)

    def measure(self, clock: Clock, add: Callable[[Block], None], *, disable_gc: bool) -> Any:
        """Time each round as a block, and return the result of the last call.

        If a round has several iterations, one more call is made for the result, as in pytest-benchmark.
        """
        result = None

        def kept(*args: Any, **kwargs: Any) -> None:
            nonlocal result
            result = self.target(*args, **kwargs)

        for number in range(-self.warmup_rounds, self.rounds):
            call = self.inputs()
            timed = call if self.iterations > 1 else call._replace(function=kept)
            with collector_paused() if disable_gc else nullcontext():
                block = clock.block(timed, 1, self.iterations)
            if number >= 0:
                add(block)
            self.tear_down(call)
        return self.once() if self.iterations > 1 else result

    def once(self) -> Any:
        """Make a call, and return its result."""
        call = self.inputs()
        result = call()
        self.tear_down(call)
        return result

    def inputs(self) -> Call:
        """Return the next call, with the arguments that `setup` returns or else the given ones.

        Raises:
            TypeError: both `setup` and the caller give arguments, as in pytest-benchmark.
        """
        made = self.setup() if self.setup else None
        if not made:
            return Call(self.target, self.args, self.kwargs)
        if self.args or self.kwargs:
            raise TypeError("Can't use `args` or `kwargs` if `setup` returns the arguments.")
        return Call(self.target, *made)

    def tear_down(self, call: Call) -> None:
        """Call `teardown` with the arguments of a call."""
        if self.teardown:
            self.teardown(*call.args, **call.kwargs)
