"""Clocks that the code under test cannot replace."""

import time


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
