"""What `gnnbench doctor` reports about the libraries and the data sets."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..engine.ground import devices
from ..engine.ground.packages import hidden, install_command, is_installed, unusable, version
from ..engine.store.suite import Diagnosis
from .libraries import import_dgl, uses_stand_in
from .platforms import PLATFORMS, why_not_on

_PACKAGES = ("torch", "torch_geometric", "ogb", "pyg_lib", "torch_scatter", "torch_sparse", "dgl")


def examine(data_root: Path | None) -> Iterator[Diagnosis]:
    """Yield diagnoses of the packages, of platforms built without CUDA, and of the data folder."""
    yield from map(_package, _PACKAGES)
    if not devices.why_no_cuda():
        yield from _built_without_cuda()
    if data_root is None:
        detail = "no folder with real data sets is set"
        remedy = "set GNNBENCH_DATA to the folder; without it, synthetic stand-ins are used"
        yield Diagnosis("data", "note", detail, remedy)
    else:
        yield Diagnosis("data", "ok", str(data_root))


def _package(package: str) -> Diagnosis:
    number = version(package)
    if number is None or not is_installed(package):
        return Diagnosis(package, "note", "not installed", install_command(package))
    if package == "dgl":
        with suppress(Exception):
            import_dgl()
    with hidden("outdated"):  # if ogb finds it, threads look for newer versions on the network
        reason = unusable(package)
    if reason:
        return Diagnosis(package, "missing", f"{number}: {reason}", install_command(package))
    if package == "dgl" and uses_stand_in():
        detail = f"message passing works; graphbolt (data loading) has no binary for torch {version('torch')}"
        return Diagnosis(package, "note", f"{number}; {detail}")
    return Diagnosis(package, "ok", number)


def _built_without_cuda() -> Iterator[Diagnosis]:
    """Yield a diagnosis of each platform that is built for the CPU only."""
    for platform in PLATFORMS.values():
        reason = None
        with suppress(Exception):  # a missing or broken package has a diagnosis already
            reason = why_not_on(platform.name, "cuda")
        if reason:
            detail, _, remedy = reason.partition(": ")
            yield Diagnosis(f"{platform.name} on CUDA", "note", detail, remedy)
