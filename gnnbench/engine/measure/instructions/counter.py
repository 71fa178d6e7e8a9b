"""What is counted of a call, and how its instructions are divided among Python functions.

Python calls a profile function at each call and return of a Python function. A first call records which
functions these are, a second one how many instructions were executed since the event before.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

Call = Callable[[], object]

MOST_EVENTS = 600
"""Each takes about 10 ms. Of calls with more, functions of deep calls are left out."""
OUTSIDE = "(outside Python functions)"


class Taken(NamedTuple):
    """Instructions of one call."""

    total: int
    file: str
    """Where callgrind wrote those of each function."""


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
    files: Sequence[str]
    """Where callgrind wrote the instructions before each event, since the event before."""


def record(call: Call) -> Events:
    """Record the events of a call."""
    found: list[tuple[int, str | None]] = []
    depth = 0

    def profile(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal depth
        if event == "call":
            depth += 1
            found.append((depth, f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}"))
        elif event == "return" and depth:
            found.append((depth, None))
            depth -= 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    by_depth = Counter(depth for depth, _ in found)
    deepest = total = 0
    while by_depth[deepest + 1] and total + by_depth[deepest + 1] <= MOST_EVENTS:
        deepest += 1
        total += by_depth[deepest]
    return Events([name for depth, name in found if depth <= deepest], deepest)


def assigned(names: Sequence[str | None], numbers: Sequence[int]) -> Mapping[str, int] | None:
    """Return the instructions of each Python function, without those of the Python functions that it calls.

    Returns None if the events were not those recorded before, because each call runs other functions.
    """
    if len(names) != len(numbers):
        return None
    by_name: Counter[str] = Counter()
    stack = [OUTSIDE]
    for name, number in zip(names, numbers, strict=True):
        by_name[stack[-1]] += number
        if name is not None:
            stack.append(name)
        elif len(stack) > 1:
            stack.pop()
    return by_name
