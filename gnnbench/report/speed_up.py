"""The speed-up of benchmarks that are timed with one CPU thread and with more."""

import re
from collections.abc import Sequence

from .. import units
from .table import SHORT_DIRECTION, TableRow, inputs

_NAME = re.compile(r"(.+)_(1|2|all)_threads?")


def lines(rows: Sequence[TableRow], session_threads: int) -> list[str]:
    """Return a line for each operation: on each platform the time with one thread divided by that with more.

    Args:
        rows: all rows; operations are told apart by the end of their name, `_1_thread` for example.
        session_threads: what `_all_threads` stands for.
    """
    seconds: dict[tuple[str, ...], dict[str, dict[str, float]]] = {}
    for row in rows:
        if named := _NAME.fullmatch(row.spec.operation):
            operation, threads = named.groups()
            about = (operation, SHORT_DIRECTION[row.spec.direction], *inputs(row.spec))
            seconds.setdefault(about, {}).setdefault(row.spec.platform, {})[threads] = row.seconds
    several = len({about[2:] for about in seconds}) > 1
    found = []
    for (operation, direction, *where), platforms in seconds.items():
        texts = [
            f"{platform} {', '.join(texts)}"
            for platform, times in platforms.items()
            if (texts := _speed_ups(times, session_threads))
        ]
        if texts:
            suffix = f" ({', '.join(where)})" if several else ""
            found.append(f"speed-up over 1 thread, {operation} {direction}{suffix}: {'; '.join(texts)}")
    return found


def _speed_ups(seconds: dict[str, float], session_threads: int) -> list[str]:
    names = {"2": "with 2", "all": f"with all {session_threads}"}
    return [
        f"{units.ratio(seconds['1'] / seconds[threads], 'slower')} {name}"
        for threads, name in names.items()
        if {"1", threads} <= seconds.keys()
    ]
