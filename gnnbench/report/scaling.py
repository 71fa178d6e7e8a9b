"""What benchmarks that are timed with several numbers of threads, or of worker processes, say together."""

import re
from collections.abc import Sequence

from .. import units
from ..workloads.operations import OPERATIONS
from .names import SHORT_DIRECTION, inputs
from .table import TableRow

_THREADS = re.compile(r"(.+)_(1|2|all)_threads?")
_WORKERS = re.compile(r"(.+?)(_first)?_(\d+)_workers")

_Texts = dict[tuple[str, ...], dict[str, list[str]]]
"""For a title and what its benchmarks run on: what is said of each platform."""


def lines(rows: Sequence[TableRow], session_threads: int) -> list[str]:
    """Return lines on operations with more threads than one, on batches a second, and on first batches.

    Args:
        rows: all rows; the end of an operation's name says how many threads or workers it has.
        session_threads: what `_all_threads` stands for.
    """
    return [*_written(_speed_ups(rows, session_threads)), *_written(_throughputs(rows))]


def _written(found: _Texts) -> list[str]:
    several = len({key[1:] for key in found}) > 1
    written = []
    for (title, *where), platforms in found.items():
        texts = [f"{platform} {', '.join(each)}" for platform, each in platforms.items() if each]
        if texts:
            suffix = f" ({', '.join(where)})" if several else ""
            written.append(f"{title}{suffix}: {'; '.join(texts)}")
    return written


def _speed_ups(rows: Sequence[TableRow], session_threads: int) -> _Texts:
    """Divide the time with one thread by that with more."""
    found: dict[tuple[str, ...], dict[str, dict[str, float]]] = {}
    for row in rows:
        if named := _THREADS.fullmatch(row.spec.operation):
            operation, threads = named.groups()
            title = f"speed-up over 1 thread, {operation} {SHORT_DIRECTION[row.spec.direction]}"
            platforms = found.setdefault((title, *inputs(row.spec)), {})
            platforms.setdefault(row.spec.platform, {})[threads] = row.seconds
    names = {"2": "with 2", "all": f"with all {session_threads}"}

    def texts(seconds: dict[str, float]) -> list[str]:
        more = [threads for threads in names if {"1", threads} <= seconds.keys()]
        return [f"{units.ratio(seconds['1'] / seconds[one], 'slower')} {names[one]}" for one in more]

    return {
        key: {platform: texts(seconds) for platform, seconds in platforms.items()}
        for key, platforms in found.items()
    }


def _throughputs(rows: Sequence[TableRow]) -> _Texts:
    """Say how many batches a second loaders make, and when the first one is there."""
    found: _Texts = {}
    for row in rows:
        operation, name = OPERATIONS.get(row.spec.operation), _WORKERS.fullmatch(row.spec.operation)
        if operation and operation.batches and name:
            loader, first, workers = name.groups()
            what = "time to the first batch" if first else "batches a second"
            value = units.seconds(row.seconds) if first else f"{operation.batches / row.seconds:.3g}"
            texts = found.setdefault((f"{what}, {loader}", *inputs(row.spec)), {})
            texts.setdefault(row.spec.platform, []).append(f"{value} with {workers} workers")
    return found
