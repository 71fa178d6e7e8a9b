"""The processor core that a block runs on.

A scheduler leaves a process where it was. Where cores are not alike for seconds, as on a virtual machine
whose neighbours use one of them, two processes that take turns differ by as much as their cores. So both
sides of a turn run on the same one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TASKS = Path("/proc/self/task")


def cores() -> list[int]:
    """Return the cores that this process may run on; none where the system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class Placement:
    """Where the blocks of one benchmark may run.

    What a call starts, threads or processes, inherits where it may run, and is to have all cores. So a
    benchmark is kept on one only after a call was watched that started nothing. What was started before keeps
    all of them.
    """

    def __init__(self) -> None:
        """Let blocks run anywhere."""
        self._starts_nothing = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """See whether calls start something; what others start meanwhile looks alike."""
        before = _last_started()
        yield
        self._starts_nothing |= before is not None and before == _last_started()

    @property
    def cores(self) -> list[int]:
        """Those that a block may be kept on; none where it is to be left where it is."""
        return cores() if self._starts_nothing else []

    @contextmanager
    def on(self, core: int | None) -> Iterator[None]:
        """Keep the calling thread on one of those cores for as long; None: leave it where it is.

        What was started meanwhile, after all, is free afterwards.
        """
        if core is None:
            yield
            return
        allowed, before = os.sched_getaffinity(0), _threads()
        with suppress(OSError):  # not permitted, or taken away meanwhile
            os.sched_setaffinity(0, {core})
        try:
            yield
        finally:
            for one in {0, *(_threads() - before), *_children()}:
                with suppress(OSError):
                    if os.sched_getaffinity(one) == {core}:  # a call may have bound it elsewhere
                        os.sched_setaffinity(one, allowed)


def _threads() -> set[int]:
    return {int(task.name) for task in _TASKS.iterdir()}


def _children() -> set[int]:
    found: set[int] = set()
    for task in _TASKS.iterdir():
        with suppress(OSError):  # the thread has just ended, or the kernel does not tell
            found.update(map(int, (task / "children").read_text(encoding="ascii").split()))
    return found


def _last_started() -> str | None:
    """Return the number of the thread or process that was started last, by anyone; None if not known."""
    with suppress(OSError):
        last = Path("/proc/loadavg").read_text(encoding="ascii").split()[-1]
        return last if last != "0" else None
    return None
