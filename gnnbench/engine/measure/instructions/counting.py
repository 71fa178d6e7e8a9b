"""Counts the instructions of warm calls until two agree, by the callgrind around this process."""

import operator
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from ...ground.codec import Count, NotNegative
from ...ground.cpu import RealTime
from ...ground.errors import UsageError
from ..conditions import collector_paused, cpu_threads
from ..seam import Pedantic
from . import callgrind
from .callgrind import Callgrind
from .counter import assigned, record

_FEWEST, _WARM_UP, _WARM_UP_SECONDS = 2, 20, 5.0
"""Calls before the first that counts, fewer of slow ones. Python 3.11 specialises functions after 8 calls."""
_MOST_CALLS = 8
_AGREE = 0.0005
"""Two calls agree if they differ by at most this fraction."""
_KEPT = 0.0005
"""Functions with a smaller fraction of the instructions are not kept."""

FOLDER_VARIABLE = "GNNBENCH_CALLGRIND"
"""Folder into which the callgrind around this process writes."""
_SAME_EACH_TIME = {
    "PYTHONHASHSEED": "0",
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
}
_FAST = {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}
"""Valgrind computes each lane of a fused multiply-add by a function: MKL's products are 180 times as slow."""
_HOW = "apt install valgrind, or dnf install valgrind"
_Found = TypeVar("_Found")


def take(calls: Pedantic, counter: Callgrind) -> dict[str, Any]:
    """Call until two calls in a row agree, eight times at most; return what `Instructions.read` takes.

    This runs where Python is fifty times slower than usual, and leaves all else to the process that reads it.
    """
    with _ready():
        begin = RealTime.seconds()
        for number in range(_WARM_UP):  # before callgrind watches: ten times as fast
            if number < _FEWEST or RealTime.seconds() - begin < _WARM_UP_SECONDS:
                _once(calls, operator.call)
        counter.begin()
        found = [_once(calls, counter.count) for _ in range(2)]
        while _spread([one.total for one in found]) > _AGREE and len(found) < _MOST_CALLS:
            found.append(_once(calls, counter.count))
    return {"totals": [one.total for one in found], "files": [found[-1].file]}


def take_by_frame(calls: Pedantic, counter: Callgrind) -> dict[str, Any]:
    """Make two more calls; return what `read_frames` takes."""
    with _ready():
        events = _once(calls, record)
        counter.begin()
        return _once(calls, lambda run: counter.by_frame(run, events))._asdict()


@contextmanager
def _ready() -> Iterator[None]:
    with cpu_threads(1 if "torch" in sys.modules else None), collector_paused():
        yield


def _once(calls: Pedantic, do: Callable[[Callable[[], object]], _Found]) -> _Found:
    """Do something with one call; set-up and tear-down are not part of it."""
    call = calls.inputs()
    try:
        return do(partial(call.function, *call.args, **call.kwargs))  # which is no Python function itself
    finally:
        calls.tear_down(call)


@dataclass(frozen=True)
class Instructions:
    """What one warm call executes."""

    total: Count
    spread: NotNegative = 0.0
    """Difference between the last two calls, as a fraction."""
    functions: Mapping[str, Count] = field(default_factory=dict)
    """Instructions of each function itself, by `package:function`, the most first, without small ones."""
    frames: Mapping[str, Count] | None = None
    """Those of each Python function and of what it calls in C, by `module:qualified.name`; None: unknown."""

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> Self:
        """Read what `take` returned, and remove its files."""
        totals = answer["totals"]
        files = [Path(file) for file in answer["files"]]
        functions = callgrind.functions(files[-1])
        _remove_all(files)
        return cls(totals[-1], _spread(totals), _kept(functions))


def read_frames(answer: Mapping[str, Any]) -> dict[str, int] | None:
    """Read what `take_by_frame` returned, and remove its files.

    Returns:
        Instructions of each Python function without the Python functions that it calls, by
        `module:qualified.name`, the most first, without small ones. None: each call runs other functions.
    """
    files = [Path(file) for file in answer["files"]]
    found = assigned(answer["names"], [callgrind.total(file) for file in files])
    _remove_all(files)
    return None if found is None else _kept(found)


def named(name: str) -> str:
    """Return `spmm_cpu (torch_sparse)` for `torch_sparse:spmm_cpu`."""
    place, _, function = name.partition(":")
    return f"{function} ({place})"


def _remove_all(files: Sequence[Path]) -> None:
    for folder in {file.parent for file in files}:
        for file in folder.glob("out.*"):
            file.unlink()


def _spread(totals: Sequence[int]) -> float:
    last, before = totals[-1], totals[-2]
    return abs(last - before) / max(last, before, 1)


def _kept(numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers that are no negligible part of the sum, the largest first."""
    least = max(1, sum(numbers.values())) * _KEPT
    ranked = sorted(numbers.items(), key=lambda one: (-one[1], one[0]))
    return {name: number for name, number in ranked if number >= least}


def variables(folder: Path) -> dict[str, str]:
    """Return the variables of a process under callgrind, which writes into a folder."""
    return {**_SAME_EACH_TIME, **_FAST, FOLDER_VARIABLE: str(folder)}


def counter_name() -> str:
    """Return callgrind with its version."""
    if not shutil.which("valgrind"):
        raise UsageError(f"valgrind counts instructions, and is not installed: {_HOW}")
    if os.uname().machine != callgrind.ARCHITECTURE:
        raise UsageError(f"valgrind counts instructions on {callgrind.ARCHITECTURE} only")
    version = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
    return version.strip().replace("valgrind-", "callgrind ")


def here() -> Callgrind | None:
    """Return the counter of this process, or None if it does not run under callgrind."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return Callgrind(Path(folder)) if folder else None
