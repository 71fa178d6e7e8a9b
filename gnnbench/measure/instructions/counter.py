"""The protocol of a counter of instructions."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

Call = Callable[[], object]


class Taken(NamedTuple):
    """Instructions of one call."""

    total: int
    file: str | None = None
    """Where callgrind wrote those of each function; None: this counter does not know functions."""


class Events(NamedTuple):
    """Calls and returns of Python functions, in order."""

    names: Sequence[str | None]
    """`module:qualified.name` of what is called; None: the innermost function returns."""
    deepest: int
    """Depth up to which calls are recorded; 1: only functions that no other Python function calls."""


class ByFrame(NamedTuple):
    """Instructions between the calls and returns of Python functions, in one call."""

    names: Sequence[str | None]
    """As in `Events`."""
    numbers: Sequence[int]
    """Instructions before each event, since the event before."""
    files: Sequence[str] = ()
    """Files of callgrind in the place of `numbers`."""


class InstructionCounter(Protocol):
    """Counts the instructions that this thread executes in a call."""

    name: str
    """With its version, for files and messages."""
    emulates: bool
    """Whether the call runs on an emulated processor, which may lack extensions of the real one."""

    def begin(self) -> None:
        """Prepare: everything before runs at full speed."""

    def count(self, call: Call) -> Taken:
        """Call once and count."""

    def by_frame(self, call: Call, events: Events) -> ByFrame:
        """Call once, and divide the instructions among the Python functions.

        Args:
            call: what to call.
            events: those of an earlier call.
        """

    def close(self) -> None:
        """End: everything after runs at full speed."""
