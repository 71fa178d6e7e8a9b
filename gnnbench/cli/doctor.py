"""What is installed, what is missing and how to get it, and what here will disturb timings."""

import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from .. import devices, environment
from ..environment import Environment, Gpu
from ..packages import hidden, install_command, is_installed, version
from ..workloads.platforms import PLATFORMS, why_not_on
from ..workloads.platforms.dgl_import import import_dgl, uses_stand_in

Status = Literal["ok", "note", "missing"]

_PYG = ("torch", "torch_geometric", "ogb")
"""Those of the extra `pyg`: all of them are required where torch is installed."""
_OPTIONAL = ("torch_scatter", "torch_sparse", "dgl")


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's report."""

    what: str
    status: Status
    detail: str
    remedy: str = ""
    """What to do, where there is something to do."""
    required: bool = False


def examine(data_root: Path | None, cache: Path) -> Iterator[Finding]:
    """Yield findings about packages, devices, folders, and whatever disturbs timings.

    Imports the libraries, to see whether they work; slow, therefore.
    """
    yield Finding("python", "ok", sys.version.split()[0])
    suite = is_installed("torch")
    for package in (*_PYG, *_OPTIONAL):
        yield _package(package, required=suite and package in _PYG)
    here = environment.collect()
    yield _cuda(here.gpu)
    if not devices.why_no_cuda():
        yield from _built_without_cuda()
    yield _data(data_root)
    yield _cache(cache)
    yield Finding("processor", "ok", _processor(here))
    yield Finding("system", "ok", _system(here))
    yield from _processor_disturbances(here)
    yield from _system_disturbances(here)
    if here.gpu:
        yield from _gpu_disturbances(here.gpu)


def _package(package: str, *, required: bool) -> Finding:
    found = version(package)
    if found is None or not is_installed(package):
        return Finding(package, "missing", "not installed", install_command(package), required)
    try:
        # With `outdated` ogb asks the network for newer versions, in threads.
        with hidden("outdated"):
            import_dgl() if package == "dgl" else importlib.import_module(package)
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises is what we report
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        return Finding(
            package, "missing", f"{found} does not import: {reason}", install_command(package), required
        )
    if package == "dgl" and uses_stand_in():
        return Finding(
            package,
            "note",
            f"{found}, without graphbolt, its data loading, which has no binary for torch "
            f"{version('torch')}; message passing works",
        )
    return Finding(package, "ok", found)


def _built_without_cuda() -> Iterator[Finding]:
    """Yield what was built for the CPU, on a machine with a GPU."""
    for platform in PLATFORMS.values():
        try:
            reason = why_not_on(platform.name, "cuda")
        except Exception:  # noqa: BLE001, S112 - of a package that is missing or broken there is a line
            continue
        if reason:
            what, _, remedy = reason.partition(": ")
            yield Finding(f"{platform.name} on CUDA", "note", what, remedy)


def _data(data_root: Path | None) -> Finding:
    if data_root is None:
        return Finding(
            "data",
            "note",
            "no folder of real data sets",
            "set GNNBENCH_DATA to one; otherwise downloads or twins serve",
        )
    return Finding("data", "ok", str(data_root))


def _cache(cache: Path) -> Finding:
    nearest = next(folder for folder in (cache, *cache.parents) if folder.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK):
        return Finding("cache", "ok", str(cache))
    return Finding(
        "cache", "missing", f"{cache} is not writable", "set GNNBENCH_CACHE to a folder that is", True
    )


def _cuda(gpu: Gpu | None) -> Finding:
    if why_not := devices.why_no_cuda():
        return Finding("cuda", "note", f"not here: {why_not}")
    if gpu is None:
        return Finding(
            "cuda",
            "note",
            f"CUDA_VISIBLE_DEVICES is {os.environ.get('CUDA_VISIBLE_DEVICES')}, and no GPU is that",
            "name one that nvidia-smi -L lists",
        )
    known = (
        gpu.name,
        f"driver {gpu.driver}",
        f"CUDA {gpu.cuda}",
        gpu.graphics_clock_mhz and f"{gpu.graphics_clock_mhz} MHz now",
        gpu.power_cap_watts and f"power cap {gpu.power_cap_watts:.0f} W",
    )
    return Finding("cuda", "ok", ", ".join(str(part) for part in known if part))


def _processor(here: Environment) -> str:
    memory = f"{here.memory_bytes / 2**30:.0f} GiB"
    return f"{here.cpu}, {here.architecture}, {here.cores} cores, {here.threads} threads, {memory}"


def _system(here: Environment) -> str:
    settings = (
        here.system,
        here.huge_pages and f"huge pages {here.huge_pages}",
        here.governor and f"governor {here.governor}",
        here.allocator,
        here.openmp,
        *(f"{name}={value}" for name, value in here.thread_settings),
    )
    return ", ".join(filter(None, settings))


def _processor_disturbances(here: Environment) -> Iterator[Finding]:
    if here.wait_policy.upper() != "PASSIVE":
        yield Finding(
            "idle threads",
            "note",
            f"OMP_WAIT_POLICY is {here.wait_policy or 'unset'}: they spin and steal the other core",
            "the suite sets it to PASSIVE for itself; export OMP_WAIT_POLICY=PASSIVE for your own scripts",
        )
    if here.quota_cores is not None and here.quota_cores < here.threads:
        yield Finding(
            "CPU quota",
            "note",
            f"{here.quota_cores:g} cores' worth of time for {here.threads} threads: they are stopped for "
            "milliseconds when it is used up",
            f"export OMP_NUM_THREADS={max(1, int(here.quota_cores))}, or raise the container's limit",
        )
    if environment.read("sys/devices/system/cpu/smt/active") == "1":
        yield Finding(
            "hyperthreads",
            "note",
            "two threads may share a core",
            "export OMP_PLACES=cores OMP_PROC_BIND=close, with one thread for each core at most",
        )
    if here.governor not in ("", "performance"):
        yield Finding(
            "governor",
            "note",
            f"{here.governor}: the clock follows the load",
            "sudo cpupower frequency-set -g performance",
        )
    if here.boost:
        intel = environment.read("sys/devices/system/cpu/intel_pstate/no_turbo")
        switch = "1 | sudo tee {}/intel_pstate/no_turbo" if intel else "0 | sudo tee {}/cpufreq/boost"
        yield Finding(
            "turbo",
            "note",
            "the clock depends on heat and on how many cores work",
            f"echo {switch.format('/sys/devices/system/cpu')}",
        )


def _system_disturbances(here: Environment) -> Iterator[Finding]:
    load = psutil.getloadavg()[0]
    if load > here.cores / 4:
        yield Finding(
            "load", "note", f"{load:.1f} on {here.cores} cores in the last minute", "stop what else runs here"
        )
    if " hypervisor" in (environment.read("proc/cpuinfo") or ""):
        yield Finding(
            "virtual machine", "note", "neighbours come and go within seconds", "compare variants in turns"
        )
    if psutil.swap_memory().used > 2**28:
        yield Finding("swap", "note", "in use: memory is short", "free memory before measuring")
    if here.huge_pages == "always":
        yield Finding(
            "huge pages",
            "note",
            "always: arrays lie on large or small pages as luck has it, and times have two modes",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )


def _gpu_disturbances(gpu: Gpu) -> Iterator[Finding]:
    import pynvml

    with devices.gpu() as ask:
        assert ask is not None
        top_mhz = ask("MaxClockInfo", pynvml.NVML_CLOCK_GRAPHICS)
        reasons = ask("CurrentClocksEventReasons")
        cap_milliwatts = ask("PowerManagementDefaultLimit")
        persistent = ask("PersistenceMode")
        mode = ask("ComputeMode")
        # A desktop draws with it, too.
        kinds = (ask("ComputeRunningProcesses"), ask("GraphicsRunningProcesses"))
        others = sorted({process.pid for found in kinds for process in found or ()})
    if reasons is not None and not reasons & pynvml.nvmlClocksEventReasonUserDefinedClocks:
        yield Finding(
            "GPU clocks",
            "note",
            f"not locked, as far as the driver tells: up to {top_mhz} MHz, as load and heat allow",
            "sudo nvidia-smi -lgc MHZ, one it can hold; sudo nvidia-smi -rgc afterwards",
        )
    if gpu.power_cap_watts and cap_milliwatts and gpu.power_cap_watts * 1000 < cap_milliwatts:
        default = f"{cap_milliwatts / 1000:.0f}"
        yield Finding(
            "GPU power",
            "note",
            f"capped at {gpu.power_cap_watts:.0f} W, and its default is {default} W",
            f"sudo nvidia-smi -pl {default}",
        )
    if others:
        yield Finding(
            "GPU load", "note", f"others use it: process {', '.join(map(str, others))}", "wait, or stop them"
        )
    if mode not in (None, pynvml.NVML_COMPUTEMODE_DEFAULT):
        yield Finding(
            "compute mode",
            "note",
            "one process at a time may use the GPU: gnnbench ab needs two",
            "sudo nvidia-smi -c DEFAULT",
        )
    if persistent == pynvml.NVML_FEATURE_DISABLED:
        yield Finding(
            "persistence",
            "note",
            "off: the driver leaves the GPU between runs, and its settings with it",
            "sudo nvidia-smi -pm 1",
        )
    if gpu.mig:
        yield Finding(
            "MIG",
            "note",
            "the GPU is cut into slices that share its power and clock",
            "leave the others idle",
        )
