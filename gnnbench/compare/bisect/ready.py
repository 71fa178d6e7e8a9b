"""Candidates that are checked out, installed or built, and ready to start with."""

from collections import OrderedDict
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Self

from ...variants.prepare import Prepared

_KEPT = 4
"""Candidates that are kept beside those in use: a checkout has the bytecode of its last start."""

Prepare = Callable[[int], AbstractContextManager[Prepared]]
"""Prepares the candidate at a position."""


class Ready:
    """The candidates that are ready. On exit, all are cleaned up."""

    def __init__(self, prepare: Prepare) -> None:
        self._prepare = prepare
        self._made: OrderedDict[int, tuple[ExitStack, Prepared]] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clean up."""
        with ExitStack() as stack:
            for one, _ in self._made.values():
                stack.push(one)
            self._made.clear()

    def __contains__(self, position: int) -> bool:
        return position in self._made

    def get(self, position: int) -> Prepared:
        """Return a candidate.

        Raises:
            UnbuildableError: this candidate cannot be built.
            UsageError: nothing can be built.
        """
        if position not in self._made:
            with ExitStack() as stack:
                made = stack.enter_context(self._prepare(position))
                self._made[position] = stack.pop_all(), made
        self._made.move_to_end(position)
        return self._made[position][1]

    def forget(self, keep: Collection[int]) -> None:
        """Clean up the candidates that were used longest ago, but none of those to keep."""
        others = [position for position in self._made if position not in keep]
        for position in others[: max(len(others) - _KEPT, 0)]:
            self._made.pop(position)[0].close()
