"""Waits until no other virtual machine on the host slows this one; no counter inside a machine shows that.

    python experiments/agreement/quiet.py FILE SECONDS

A loop of pure Python takes 1.5 to 2 times as long on a core whose second thread another machine uses. Each
core runs the loop for half a second, in interleaved slices. The script waits, for SECONDS at most, until the
mean time on each core is at most a quarter above the fastest so far, which is saved in FILE. It prints the
seconds of the last loop on the slowest core.
"""

import argparse
import os
import statistics
import time
from pathlib import Path

CONTENDED = 1.25
_SLICE_SECONDS, _SLICES = 0.1, 5


def look() -> float:
    """Return the seconds of the mean loop on the slowest core."""
    cores = sorted(os.sched_getaffinity(0))
    found: dict[int, list[float]] = {core: [] for core in cores}
    for _ in range(_SLICES):
        for core in cores:
            os.sched_setaffinity(0, {core})
            end = time.perf_counter() + _SLICE_SECONDS
            while (start := time.perf_counter()) < end:
                for _ in range(20_000):
                    pass
                found[core].append(time.perf_counter() - start)
    return max(statistics.fmean(loops) for loops in found.values())


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("seconds", type=float)
    options = parser.parse_args()
    file, end = options.file, time.monotonic() + options.seconds
    while True:
        fastest = float(file.read_text(encoding="utf-8")) if file.exists() else float("inf")
        seconds = look()
        if seconds < fastest:
            file.write_text(f"{seconds}\n", encoding="utf-8")
        if seconds < CONTENDED * fastest or time.monotonic() > end:
            print(seconds)
            return
        time.sleep(2)


if __name__ == "__main__":
    main()
