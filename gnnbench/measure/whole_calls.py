"""Times calls that are more than the calling thread's own work: those that start processes or threads.

Each round is one whole call on the inputs as they were given, by the wall clock. Nothing is repeated inside a
round, no inputs are copied, and a call is never traced: what runs in other processes could not be seen.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from . import compilation
from .clock import Block, Call, Clock
from .conditions import collector_paused

if TYPE_CHECKING:
    from .measurement import Measurement
    from .sampler import Effort


def why_unseen(reason: str) -> str:
    """Return why such a call has neither counters nor a fingerprint; `reason` is its marker's."""
    return f"its calls are timed whole: {reason}"


def sample_whole(
    call: Call, clock: Clock, effort: "Effort", measurement: "Measurement", add: Callable[[Block], None]
) -> Any:
    """Time calls until a stopping rule applies, after untimed ones; return the last result.

    Args:
        call: the function with its inputs.
        clock: its clock.
        effort: limits; of the shortest round no use is made.
        measurement: receives the reason to stop.
        add: called with each call as a block; adds it to the measurement.

    Raises:
        ClockError: the clock cannot time the call.
        Exception: what the call raises.
    """
    from .sampler import check_rejected
    from .stopping import Stopping

    result = None

    def kept(*args: Any, **kwargs: Any) -> None:
        nonlocal result
        result = call.function(*args, **kwargs)

    timed = call._replace(function=kept)
    stopping = Stopping(effort.precision, effort.max_seconds, effort.min_rounds)
    start = clock.now()
    for _ in range(effort.warmup_iterations):
        clock.block(timed, 1, 1)
    while measurement.stopped_by is None:
        compilation.clear()  # the last call's counts are left
        with collector_paused() if effort.disable_gc else nullcontext():
            add(clock.block(timed, 1, 1))
        check_rejected(measurement, clock)
        elapsed = clock.now() - start
        measurement.stopped_by = stopping.reason(measurement.blocks_ns, measurement.rounds, elapsed)
    return result
