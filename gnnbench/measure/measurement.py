"""The times of one benchmark in one process: every round, by block."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, Literal

from . import estimate
from .clock import Block
from .stopping import StopReason

LayoutPolicy = Literal["sampled", "one"]


@dataclass
class Measurement:
    """The rounds of one process."""

    clock: str
    layouts: LayoutPolicy
    """`sampled`: each block has copies of the inputs at other addresses; `one`: no copies."""
    in_place: str | None = None
    """Why the inputs are not copied."""
    not_copied: tuple[str, ...] = ()
    """Names of inputs that are not copied."""
    whole_call: str | None = None
    """Why each round is one whole call, see `whole_calls`; None: rounds and layouts are chosen."""
    iterations: int = 1
    """Calls in a round."""
    blocks_ns: list[list[float]] = field(default_factory=list)
    """Rounds of each block, in nanoseconds per call."""
    device_blocks_ns: list[list[float]] = field(default_factory=list)
    """Of each block one more round, between CUDA events; empty on a CPU."""
    rounds: int = 0
    """Rounds in all blocks."""
    rejected_rounds: int = 0
    """Rounds without a positive finite time, for example because the clock was set."""
    changes_inputs: bool = False
    """Whether calls write to the inputs, so that rounds had different input values."""
    contention_share: float | None = None
    """Fraction of the processors' time that other programs used; None if it was not recorded."""
    stopped_by: StopReason | None = None
    """Why measuring stopped; None: an error or the user interrupted it."""

    def add(self, block: Block) -> list[float]:
        """Add a block; return its valid rounds, in seconds."""
        good = [0 < seconds < math.inf for seconds in block.seconds]
        self.rejected_rounds += good.count(False)
        kept = list(compress(block.seconds, good))
        self.rounds += len(kept)
        if kept:
            self.blocks_ns.append(self._per_call_ns(kept))
            if block.device_seconds is not None:
                self.device_blocks_ns.append(self._per_call_ns([block.device_seconds]))
        return kept

    def _per_call_ns(self, seconds: Iterable[float]) -> list[float]:
        return [second / self.iterations * 1e9 for second in seconds]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object that docs/formats.md describes."""
        record: dict[str, Any] = {
            "clock": self.clock,
            "layouts": self.layouts,
            "in_place": self.in_place,
            "not_copied": list(self.not_copied),
            "whole_call": self.whole_call,
            "iterations": self.iterations,
            "rejected_rounds": self.rejected_rounds,
            "changes_inputs": self.changes_inputs,
            "others_share": self.contention_share,
            "stopped_by": self.stopped_by,
            "processes": [{"blocks_ns": self.blocks_ns, "device_blocks_ns": self.device_blocks_ns}],
        }
        return record | summary(self.blocks_ns) if self.blocks_ns else record


def summary(blocks_ns: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return the estimate of one process, its interval and the modes of its blocks, as run files have them.

    Args:
        blocks_ns: rounds of each block, in nanoseconds per call; at least one block.
    """
    values = estimate.block_values(blocks_ns)
    found = estimate.estimate(values)
    return {
        "location": estimate.NAME,
        "location_ns": found.location,
        "low_ns": found.low,
        "high_ns": found.high,
        "level": estimate.SHOWN_LEVEL,
        "modes": [{"median_ns": mode.median, "share": mode.share} for mode in estimate.modes(values)],
    }
