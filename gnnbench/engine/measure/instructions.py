"""Counts the instructions of warm calls until two agree, by the callgrind around this process."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

from ..ground.codec import Count, NotNegative
from ..ground.cpu import RealTime
from ..ground.errors import UsageError
from . import callgrind
from .callgrind import Callgrind, Taken
from .conditions import collector_paused, cpu_threads
from .seam import Pedantic

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


def take(calls: Pedantic, counter: Callgrind) -> dict[str, Any]:
    """Call until two calls in a row agree, eight times at most; return what `Instructions.read` takes.

    This runs where Python is fifty times slower than usual, and leaves all else to the process that reads it.
    """
    with cpu_threads(1 if "torch" in sys.modules else None), collector_paused():
        begin = RealTime.seconds()
        for number in range(_WARM_UP):  # before callgrind watches: ten times as fast
            if number < _FEWEST or RealTime.seconds() - begin < _WARM_UP_SECONDS:
                calls.once()
        counter.begin()
        counts = [_counted(calls, counter) for _ in range(2)]
        while _spread([count.total for count in counts]) > _AGREE and len(counts) < _MOST_CALLS:
            counts.append(_counted(calls, counter))
    return {"totals": [count.total for count in counts], "file": counts[-1].file}


def _counted(calls: Pedantic, counter: Callgrind) -> Taken:
    """Count one call; set-up and tear-down are not part of it."""
    call = calls.inputs()
    count = counter.count(partial(call.function, *call.args, **call.kwargs))  # which is no Python function
    calls.tear_down(call)
    return count


@dataclass(frozen=True)
class Instructions:
    """What one warm call executes."""

    total: Count
    spread: NotNegative = 0.0
    """Difference between the last two calls, as a fraction."""
    functions: Mapping[str, Count] = field(default_factory=dict)
    """Instructions of each function itself, by `package:function`, without small ones."""

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> Self:
        """Read what `take` returned, and remove its files."""
        totals, file = answer["totals"], Path(answer["file"])
        functions = callgrind.functions(file)
        for written in file.parent.glob("out.*"):
            written.unlink()
        least = max(1, sum(functions.values())) * _KEPT
        kept = {name: number for name, number in functions.items() if number >= least}
        return cls(totals[-1], _spread(totals), kept)


def _spread(totals: Sequence[int]) -> float:
    last, before = totals[-1], totals[-2]
    return abs(last - before) / max(last, before, 1)


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
