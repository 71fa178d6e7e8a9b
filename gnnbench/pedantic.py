"""`benchmark.pedantic`: as many calls as its author asked for, and no more."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gnnbench.clock import Block, Call, Clock
from gnnbench.layout import Layouts
from gnnbench.measurement import Measurement

_ROUNDS_PER_LAYOUT = 3


@dataclass(frozen=True)
class Pedantic:
    """What was asked for, as pytest-benchmark names it."""

    target: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    setup: Callable[[], Any] | None
    teardown: Callable[..., Any] | None
    rounds: int
    warmup_rounds: int
    iterations: int

    def measure(
        self, layouts: Layouts, clock: Clock, measurement: Measurement, add: Callable[[Block], None]
    ) -> Any:
        """Time the rounds, on a new layout every few of them, and return the last call's result.

        A round is a block of its own; of rounds with several iterations one more call is made for the result,
        as pytest-benchmark does.
        """
        result = None

        def kept(*args: Any, **kwargs: Any) -> None:
            nonlocal result
            result = self.target(*args, **kwargs)

        for number in range(-self.warmup_rounds, self.rounds):
            if measurement.layouts == "sampled" and number % _ROUNDS_PER_LAYOUT == 0:
                layouts.renew()
                clock.renewed()
            call = self.inputs(layouts)
            timed = call if self.iterations > 1 else call._replace(function=kept)
            block = clock.block(timed, 1, self.iterations)
            if number >= 0:
                add(block)
            self._tear_down(call)
        measurement.stopped_by = "rounds"
        if self.iterations > 1:
            call = self.inputs(layouts)
            result = call()
            self._tear_down(call)
        return result

    def inputs(self, layouts: Layouts) -> Call:
        """Return the next call: on what the setup makes, or on the last copies.

        Raises:
            TypeError: arguments come both from the setup and from the caller, as in pytest-benchmark.
        """
        made = self.setup() if self.setup else None
        if not made:
            return layouts.current
        if self.args or self.kwargs:
            raise TypeError("Can't use `args` or `kwargs` if `setup` returns the arguments.")
        return Call(self.target, *made)

    def _tear_down(self, call: Call) -> None:
        if self.teardown:
            self.teardown(*call.args, **call.kwargs)
