"""What `gnnbench doctor` shows of the libraries and the data sets."""

import importlib
from collections.abc import Iterator
from pathlib import Path

from ..engine.ground import devices
from ..engine.ground.packages import hidden, install_command, is_installed, version
from ..engine.store.suite import Diagnosis
from .libraries import import_dgl, uses_stand_in
from .platforms import PLATFORMS, why_not_on

_PYG = ("torch", "torch_geometric", "ogb")
"""Those of the extra `pyg`: all of them are required where benchmarks use gnnbench's fixtures."""
_OPTIONAL = ("pyg_lib", "torch_scatter", "torch_sparse", "dgl")
_MARK = b"mark.operations("
"""What benchmarks have that use gnnbench's fixtures."""
_PLACES = ("test_*.py", "*/test_*.py", "*/*/test_*.py")
"""Where such benchmarks are looked for: not deeper, because the folder may be a home."""


def examine(data_root: Path | None, folder: Path) -> Iterator[Diagnosis]:
    """Yield the packages, those that lack CUDA, and the folder of data sets.

    It is slow: it imports the libraries to check that they work.
    """
    needed = _uses_fixtures(folder)
    for package in (*_PYG, *_OPTIONAL):
        if needed or is_installed(package):
            yield _package(package, required=needed and package in _PYG)
        else:
            detail = "not installed; no benchmark in this project uses gnnbench's fixtures, which need it"
            yield Diagnosis(package, "note", detail, install_command(package))
    if not devices.why_no_cuda():
        yield from _built_without_cuda()
    yield _data(data_root)


def _note(what: str, detail: str, remedy: str = "") -> Diagnosis:
    return Diagnosis(what, "note", detail, remedy)


def _uses_fixtures(folder: Path) -> bool:
    """Return whether a benchmark of the folder uses gnnbench's fixtures, whose graphs need PyG."""
    return any(
        _MARK in path.read_bytes() for place in _PLACES for path in folder.glob(place) if path.is_file()
    )


def _package(package: str, *, required: bool) -> Diagnosis:
    installed = version(package)
    if installed is None or not is_installed(package):
        return Diagnosis(package, "missing", "not installed", install_command(package), required)
    try:
        # If `outdated` is installed, ogb looks for newer versions on the network, in threads.
        with hidden("outdated"):
            import_dgl() if package == "dgl" else importlib.import_module(package)
    except Exception as error:  # noqa: BLE001 - a broken installation may raise anything
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        return Diagnosis(
            package, "missing", f"{installed} does not import: {reason}", install_command(package), required
        )
    if package == "dgl" and uses_stand_in():
        return _note(
            package,
            f"{installed}; message passing works; graphbolt (data loading) does not, as it has no binary for "
            f"torch {version('torch')}",
        )
    return Diagnosis(package, "ok", installed)


def _built_without_cuda() -> Iterator[Diagnosis]:
    """Yield the platforms that are built for the CPU only."""
    for platform in PLATFORMS.values():
        try:
            reason = why_not_on(platform.name, "cuda")
        except Exception:  # noqa: BLE001, S112 - a missing or broken package has a finding already
            continue
        if reason:
            what, _, remedy = reason.partition(": ")
            yield _note(f"{platform.name} on CUDA", what, remedy)


def _data(data_root: Path | None) -> Diagnosis:
    if data_root is None:
        return _note(
            "data",
            "no folder of real data sets",
            "set GNNBENCH_DATA to one; otherwise data is downloaded or a synthetic stand-in is used",
        )
    return Diagnosis("data", "ok", str(data_root))
