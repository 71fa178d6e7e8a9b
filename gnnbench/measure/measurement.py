"""What was measured of one benchmark: every round, by process and layout, and what follows from them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, Literal

from . import estimate as location
from .clock import Block
from .estimate import Estimate, Mode
from .stopping import StopReason

LayoutPolicy = Literal["sampled", "one"]


@dataclass
class Measurement:
    """The rounds of one process, added to as they are timed."""

    clock: str
    layouts: LayoutPolicy
    """Whether each block has a layout of its own, or all have the same."""
    in_place: str | None = None
    """Why there is one layout only."""
    not_copied: tuple[str, ...] = ()
    """Inputs that were left where they are."""
    iterations: int = 1
    """Calls in a round."""
    blocks_ns: list[list[float]] = field(default_factory=list)
    """Of each block its rounds, nanoseconds per call."""
    device_blocks_ns: list[list[float]] = field(default_factory=list)
    """The same as the GPU counts it; empty on a CPU."""
    rounds: int = 0
    """In all blocks."""
    rejected_rounds: int = 0
    """Whose time was no positive number, as when a clock is set."""
    changes_inputs: bool = False
    """Whether calls write to the inputs, so that no two rounds have the same."""
    contention_share: float | None = None
    """Part of the processors' time that other programs took meanwhile; None where it was not looked at."""
    stopped_by: StopReason | None = None
    """None: an error or the user ended it before its time."""

    def add(self, block: Block) -> list[float]:
        """Take in a block; return its rounds that have a time, in seconds."""
        good = [0 < seconds < math.inf for seconds in block.seconds]
        self.rejected_rounds += good.count(False)
        kept = list(compress(block.seconds, good))
        self.rounds += len(kept)
        if kept:
            self.blocks_ns.append(self._per_call_ns(kept))
            if block.device_seconds is not None:
                self.device_blocks_ns.append(self._per_call_ns(compress(block.device_seconds, good)))
        return kept

    def _per_call_ns(self, seconds: Iterable[float]) -> list[float]:
        return [second / self.iterations * 1e9 for second in seconds]

    def estimate(self) -> Estimate:
        """Return the location of the time of a call, in nanoseconds; there must be a block."""
        return location.estimate(location.block_values(self.blocks_ns))

    def modes(self) -> tuple[Mode, ...]:
        """Return the kinds of layouts that were met."""
        return location.modes(location.block_values(self.blocks_ns))

    def as_json(self) -> dict[str, Any]:
        """Return the record that docs/formats.md describes."""
        record: dict[str, Any] = {
            "clock": self.clock,
            "layouts": self.layouts,
            "in_place": self.in_place,
            "not_copied": list(self.not_copied),
            "iterations": self.iterations,
            "rejected_rounds": self.rejected_rounds,
            "changes_inputs": self.changes_inputs,
            "others_share": self.contention_share,
            "stopped_by": self.stopped_by,
            "processes": [{"blocks_ns": self.blocks_ns, "device_blocks_ns": self.device_blocks_ns}],
        }
        if self.blocks_ns:
            estimate = self.estimate()
            record |= {
                "location": location.NAME,
                "location_ns": estimate.location,
                "low_ns": estimate.low,
                "high_ns": estimate.high,
                "level": location.LEVEL,
                "modes": [{"median_ns": mode.median, "share": mode.share} for mode in self.modes()],
            }
        return record
