"""Clocks that the code under test cannot replace, pinning to CPU cores, and the CPU time of other programs.

On a virtual machine, cores can differ in speed for seconds, because other virtual machines use some of them.
Two processes that are timed alternately on different cores would differ as much as the cores. So both are
pinned to the same core.
"""

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

import psutil

# A test may replace the built-in `open`, by which psutil reads files of the system.
vars(psutil._common)["open"] = open  # noqa: SLF001

_OTHER_THREADS, _READING_NS = 0.02, 20_000
"""How far the CPU times of a process and its only thread may differ, as they are read one after the other."""
_TASKS = Path("/proc/self/task")


class RealTime:
    """The functions of the `time` module as they were when gnnbench was imported.

    Tests freeze time: freezegun replaces the functions in the attributes of every loaded module, but does not
    look into classes; time-machine replaces `time.time` and `time.monotonic` in place, but not
    `time.perf_counter`. A loop that waits for a frozen clock never ends.
    """

    seconds = staticmethod(time.perf_counter)
    """Monotonic."""
    nanoseconds = staticmethod(time.perf_counter_ns)
    """Monotonic."""
    thread_nanoseconds = staticmethod(time.thread_time_ns)
    """CPU time of the calling thread."""
    process_nanoseconds = staticmethod(time.process_time_ns)
    """CPU time of all threads."""
    sleep = staticmethod(time.sleep)
    """Takes seconds."""


class CpuUse(NamedTuple):
    """The CPU use of this process so far."""

    process_ns: int
    """CPU time of all threads."""
    thread_ns: int
    """CPU time of the calling thread."""
    waits: int
    """How often a thread gave up its core in order to wait."""

    @classmethod
    def now(cls) -> Self:
        waits = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        return cls(RealTime.process_nanoseconds(), RealTime.thread_nanoseconds(), waits)

    def is_one_thread_since(self, before: Self) -> bool:
        """Return whether, since `before`, only the calling thread has run, and it has never waited."""
        process_ns, thread_ns = self.process_ns - before.process_ns, self.thread_ns - before.thread_ns
        most_ns = (1 + _OTHER_THREADS) * thread_ns + _READING_NS
        return self.waits == before.waits and process_ns <= most_ns


def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


class Placement:
    """Pins the blocks of one benchmark to a core, if its calls start no threads or processes.

    New threads and processes would inherit the pinning, but must be free to use all cores. So a benchmark is
    pinned only after a call that started none. Threads that already run may still use all cores.
    """

    def __init__(self) -> None:
        self._starts_nothing = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Check whether the calls in this context start a thread or process.

        A thread or process of another program prevents pinning, too: the system counts all of them together.
        """
        newest = _last_started()
        yield
        self._starts_nothing |= newest == _last_started() != "0"

    @property
    def cores(self) -> list[int]:
        """The cores to which a block may be pinned. Empty if it must not be pinned."""
        return cores() if self._starts_nothing else []

    @contextmanager
    def on(self, core: int | None) -> Iterator[None]:
        """Pin the calling thread to a core while the context lasts, unless the core is None.

        Threads and processes that were started in the context may use all cores afterwards.
        """
        if core is None:
            yield
            return
        allowed, threads = os.sched_getaffinity(0), _threads()
        with suppress(OSError):  # not permitted, or the core was removed
            os.sched_setaffinity(0, {core})
        try:
            yield
        finally:
            for task in {0, *(_threads() - threads), *_children()}:
                with suppress(OSError):
                    if os.sched_getaffinity(task) == {core}:  # unless the call itself pinned it elsewhere
                        os.sched_setaffinity(task, allowed)


def _threads() -> set[int]:
    return {int(task.name) for task in _TASKS.iterdir()}


def _children() -> set[int]:
    ids: set[int] = set()
    for task in _TASKS.iterdir():
        with suppress(OSError):  # the thread has just ended, or the kernel has no such file
            ids.update(map(int, (task / "children").read_text(encoding="ascii").split()))
    return ids


def _last_started() -> str:
    """Return the id of the newest thread or process of the whole system; `0` if the system hides it."""
    return Path("/proc/loadavg").read_text(encoding="ascii").split()[-1]


CONTENDED = 0.1
"""Contention share above which a timing is not used.

One busy program on two cores uses half of the CPU time; the system itself uses about 1%."""

UNWATCHED_CLOCKS = ("cuda", "fake")
"""Clocks without CPU contention: GPU kernels do not wait for the CPU; a simulated machine has none."""

_SHORTEST_SECONDS = 0.25
"""Shortest window: the system counts CPU time in steps of 0.01 s."""

_Sample = tuple[float, float, float]
"""Seconds: the time, the CPU time of all programs on the cores, and the CPU time of this process."""


def _busy_seconds(core_numbers: list[int]) -> float:
    """Return the CPU time that all programs and the hypervisor have used on the cores since boot."""
    times_by_core = psutil.cpu_times(percpu=True)
    watched = [times_by_core[core] for core in core_numbers if core < len(times_by_core)] or times_by_core
    idle = ("idle", "iowait", "guest", "guest_nice")  # a guest's time is in `user` as well
    return sum(value for times in watched for name, value in times._asdict().items() if name not in idle)


def _process_seconds() -> float:
    """Return the CPU time of this process and its children, running ones included."""
    total = sum(os.times()[:4])
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            total += sum(child.cpu_times()[:2])
    return total


def _sample(core_numbers: list[int]) -> _Sample:
    return RealTime.seconds(), _busy_seconds(core_numbers), _process_seconds()


@dataclass
class ContentionWatch:
    """Measures CPU contention: the CPU time of other programs while a benchmark runs."""

    _cores: list[int] = field(default_factory=cores)
    _samples: list[_Sample] = field(init=False)

    def __post_init__(self) -> None:
        self._samples = [_sample(self._cores)]

    def begin(self) -> None:
        self._samples.append(_sample(self._cores))

    def contention_share(self) -> float:
        """Return the fraction of CPU time that other programs used since the last `begin`.

        If this window is too short, it starts at an earlier sample; if there is none, the call waits.
        """
        now = _sample(self._cores)
        earlier = (sample for sample in reversed(self._samples) if now[0] - sample[0] >= _SHORTEST_SECONDS)
        start = next(earlier, None)
        if start is None:
            start = self._samples[0]
            RealTime.sleep(_SHORTEST_SECONDS - (now[0] - start[0]))
            now = _sample(self._cores)
        self._samples.append(now)
        wall, busy, process_seconds = (after - before for after, before in zip(now, start, strict=True))
        return max(0.0, busy - process_seconds) / (wall * len(self._cores))
