"""What is installed, what is missing and how to get it, and what here will disturb timings."""

import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from gnnbench import devices, environment
from gnnbench.packages import hidden, install_command, is_installed, version
from gnnbench.platforms.dgl_import import import_dgl, uses_stand_in

Status = Literal["ok", "note", "missing"]

_REQUIRED = ("torch", "torch_geometric", "ogb")
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
    for package in (*_REQUIRED, *_OPTIONAL):
        yield _package(package, required=package in _REQUIRED)
    why_not = devices.why_no_cuda()
    yield (
        Finding("cuda", "note", f"not here: {why_not}")
        if why_not
        else Finding("cuda", "ok", environment.collect().gpu or "")
    )
    yield _data(data_root)
    yield _cache(cache)
    yield from _disturbances()


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


def _disturbances() -> Iterator[Finding]:
    here = environment.collect()
    yield Finding("processor", "ok", f"{here.cpu}, {here.cores} cores, {here.threads} threads")
    if here.wait_policy.upper() != "PASSIVE":
        yield Finding(
            "idle threads",
            "note",
            f"OMP_WAIT_POLICY is {here.wait_policy or 'unset'}: they spin and steal the other core",
            "the suite sets it to PASSIVE for itself; export OMP_WAIT_POLICY=PASSIVE for your own scripts",
        )
    load = psutil.getloadavg()[0]
    if load > here.cores / 4:
        yield Finding(
            "load", "note", f"{load:.1f} on {here.cores} cores in the last minute", "stop what else runs here"
        )
    governors = {
        path.read_text().strip()
        for path in Path("/sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")
    }
    if governors - {"performance"}:
        yield Finding(
            "governor",
            "note",
            f"{', '.join(sorted(governors))}: the clock follows the load",
            "sudo cpupower frequency-set -g performance",
        )
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists() and " hypervisor" in cpuinfo.read_text():
        yield Finding(
            "virtual machine", "note", "neighbours come and go within seconds", "compare variants in turns"
        )
    if psutil.swap_memory().used > 2**28:
        yield Finding("swap", "note", "in use: memory is short", "free memory before measuring")
