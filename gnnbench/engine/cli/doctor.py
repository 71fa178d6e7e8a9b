"""`gnnbench doctor`: checks the installation, and lists settings of this machine that disturb timings."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

from ..ground import devices, environment
from ..ground.environment import Environment, Gpu
from ..ground.errors import printable
from ..ground.files import cache_folder
from ..store.suite import Diagnosis, installed
from .common import NOTHING_SLOWER, WRONG_USAGE, declare


def _note(what: str, detail: str, remedy: str = "") -> Diagnosis:
    return Diagnosis(what, "note", detail, remedy)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    suite = installed()
    declare(parser, (), [suite.options[name] for name in suite.doctor_options])


def run(options: argparse.Namespace) -> int:
    """Print the findings, and return the exit code."""
    from rich.markup import escape
    from rich.table import Table

    from ..show.console import Console

    console = Console()
    marks = {"ok": "[green]ok[/green]", "note": "[yellow]note[/yellow]", "missing": "[red]missing[/red]"}
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    is_unusable = False
    with console.status("checking"):
        for finding in examine(vars(options), cache_folder()):
            remedy = f"\n→ {finding.remedy}" if finding.remedy else ""
            table.add_row(finding.what, marks[finding.status], escape(printable(f"{finding.detail}{remedy}")))
            is_unusable |= finding.status == "missing"
    console.print(table)
    return WRONG_USAGE if is_unusable else NOTHING_SLOWER


def examine(options: Mapping[str, Any], cache: Path) -> Iterator[Diagnosis]:
    """Yield findings about packages, devices, folders and disturbances of timings."""
    yield Diagnosis("python", "ok", sys.version.split()[0])
    yield from installed().diagnoses(options)
    host = environment.collect()
    yield _cuda(host.gpu)
    yield _cache(cache)
    size = f"{host.cores} cores, {host.threads} threads, {host.memory_bytes / 2**30:.0f} GiB"
    yield Diagnosis("processor", "ok", f"{host.cpu}, {host.architecture}, {size}")
    yield Diagnosis("system", "ok", _system(host))
    yield from _disturbances(host)
    if host.gpu:
        yield from _gpu_disturbances(host.gpu)


def _cache(cache: Path) -> Diagnosis:
    nearest = next(folder for folder in (cache, *cache.parents) if folder.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK):
        return Diagnosis("cache", "ok", str(cache))
    return Diagnosis(
        "cache", "missing", f"{cache} is not writable", "set GNNBENCH_CACHE to a writable folder"
    )


def _cuda(gpu: Gpu | None) -> Diagnosis:
    if reason := devices.why_no_cuda():
        return _note("cuda", f"not available: {reason}")
    assert gpu
    facts = (
        gpu.name,
        f"driver {gpu.driver}",
        f"CUDA {gpu.cuda}",
        gpu.graphics_clock_mhz and f"{gpu.graphics_clock_mhz} MHz now",
        gpu.power_cap_watts and f"power cap {gpu.power_cap_watts:.0f} W",
    )
    return Diagnosis("cuda", "ok", ", ".join(str(part) for part in facts if part))


def _system(host: Environment) -> str:
    settings = (
        host.system,
        host.huge_pages and f"huge pages {host.huge_pages}",
        host.governor and f"governor {host.governor}",
        host.allocator,
        host.openmp,
        *(f"{name}={value}" for name, value in host.thread_settings),
    )
    return ", ".join(filter(None, settings))


def _disturbances(host: Environment) -> Iterator[Diagnosis]:
    if host.wait_policy.upper() != "PASSIVE":
        yield _note(
            "idle threads",
            f"OMP_WAIT_POLICY is {host.wait_policy or 'unset'}: idle OpenMP threads spin and disturb timings",
            "gnnbench sets it to PASSIVE for the suite; export OMP_WAIT_POLICY=PASSIVE for your own scripts",
        )
    if host.quota_cores is not None and host.quota_cores < host.threads:
        yield _note(
            "CPU quota",
            f"limits {host.threads} threads to the CPU time of {host.quota_cores:g} cores: the system pauses "
            "them for milliseconds when that time is used up",
            f"export OMP_NUM_THREADS={max(1, int(host.quota_cores))}, or raise the container's limit",
        )
    if environment.read("sys/devices/system/cpu/smt/active") == "1":
        yield _note(
            "hyperthreads",
            "two threads may share a core",
            "export OMP_PLACES=cores OMP_PROC_BIND=close, and use at most one thread per core",
        )
    if host.governor not in ("", "performance"):
        yield _note(
            "governor",
            f"{host.governor}: the clock changes with the load",
            "sudo cpupower frequency-set -g performance",
        )
    if host.boost:
        intel = environment.read("sys/devices/system/cpu/intel_pstate/no_turbo")
        switch = "1 | sudo tee {}/intel_pstate/no_turbo" if intel else "0 | sudo tee {}/cpufreq/boost"
        yield _note(
            "turbo",
            "the clock depends on temperature and on how many cores are busy",
            f"echo {switch.format('/sys/devices/system/cpu')}",
        )
    load = psutil.getloadavg()[0]
    if load > host.cores / 4:
        yield _note("load", f"{load:.1f} on {host.cores} cores in the last minute", "stop other programs")
    if " hypervisor" in (environment.read("proc/cpuinfo") or ""):
        yield _note("virtual machine", "others on the same host change its speed", "use gnnbench ab")
    if host.huge_pages == "always":
        yield _note(
            "huge pages",
            "always: arrays get large or small pages by chance, so times have two modes",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )


def _gpu_disturbances(gpu: Gpu) -> Iterator[Diagnosis]:
    import pynvml

    with devices.gpu() as query:
        assert query is not None
        top_mhz = query("MaxClockInfo", pynvml.NVML_CLOCK_GRAPHICS)
        reasons = query("CurrentClocksEventReasons")
        cap_milliwatts = query("PowerManagementDefaultLimit")
        mode = query("ComputeMode")
        # Graphics processes count, because a desktop uses the GPU too.
        groups = (query("ComputeRunningProcesses"), query("GraphicsRunningProcesses"))
        pids = sorted({process.pid for processes in groups for process in processes or ()})
    if reasons is not None and not reasons & pynvml.nvmlClocksEventReasonUserDefinedClocks:
        yield _note(
            "GPU clocks",
            f"not locked, as far as the driver reports: up to {top_mhz} MHz, depending on load and heat",
            "sudo nvidia-smi -lgc MHZ, with a clock that the GPU can sustain; sudo nvidia-smi -rgc to undo",
        )
    if gpu.power_cap_watts and cap_milliwatts and gpu.power_cap_watts * 1000 < cap_milliwatts:
        default = f"{cap_milliwatts / 1000:.0f}"
        yield _note(
            "GPU power",
            f"capped at {gpu.power_cap_watts:.0f} W; the default is {default} W",
            f"sudo nvidia-smi -pl {default}",
        )
    if pids:
        yield _note("GPU load", f"in use by process {', '.join(map(str, pids))}", "wait, or stop them")
    if mode not in (None, pynvml.NVML_COMPUTEMODE_DEFAULT):
        yield _note(
            "compute mode",
            "only one process may use the GPU at a time; gnnbench ab needs two",
            "sudo nvidia-smi -c DEFAULT",
        )
    if gpu.mig:
        yield _note(
            "MIG",
            "the GPU is divided into slices that share its power and clock",
            "keep the other slices idle",
        )
