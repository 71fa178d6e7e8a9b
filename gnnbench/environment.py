"""What a run was measured with: versions, threads, processor."""

import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from gnnbench.packages import version

_WAIT_POLICY = "OMP_WAIT_POLICY"

LIBRARIES = ("torch", "torch_geometric", "torch_scatter", "torch_sparse", "dgl", "ogb")


@dataclass(frozen=True)
class Environment:
    """The part of a machine that a timing depends on."""

    cpu: str
    cores: int
    """That this process may run on."""
    threads: int
    """That OpenMP will start."""
    wait_policy: str
    """Of OpenMP's idle threads: `PASSIVE` where they sleep; empty: the library's default, which spins."""
    gpu: str | None
    python: str
    libraries: tuple[tuple[str, str], ...]
    """Names and versions of those installed."""


def collect() -> Environment:
    """Look at this machine and process; imports no library that is measured."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Environment(
        cpu=_cpu_model(),
        cores=cores,
        threads=_threads() or cores,
        wait_policy=os.environ.get(_WAIT_POLICY, ""),
        gpu=_gpu_model(),
        python=platform.python_version(),
        libraries=tuple((name, found) for name in LIBRARIES if (found := version(name))),
    )


def let_idle_threads_sleep() -> None:
    """Set OMP_WAIT_POLICY to PASSIVE unless it is set: before torch is imported, as OpenMP reads it then.

    Threads that wait by spinning steal the core of whoever they wait for: with libgomp's default, 3 of 10
    processes on two shared cores had SpMM medians of 26 ms, not 1.05.
    """
    if _WAIT_POLICY not in os.environ and "torch" not in sys.modules:
        os.environ[_WAIT_POLICY] = "PASSIVE"


def _threads() -> int | None:
    """Return the number that OMP_NUM_THREADS gives, None where it gives none, as OpenMP reads it."""
    text = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(text) if text.isascii() and text.isdecimal() else None


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _gpu_model() -> str | None:
    import pynvml

    try:
        pynvml.nvmlInit()
        name: str = pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0))
        pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return None
    return name
