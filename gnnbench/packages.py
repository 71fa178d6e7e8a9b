"""Which third-party packages are here, asked without importing them."""

import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata

_FROM_SOURCE = "pip install --no-build-isolation"

INSTALL = {
    "torch_scatter": f"{_FROM_SOURCE} torch_scatter",
    "torch_sparse": f"{_FROM_SOURCE} torch_scatter torch_sparse",
    **dict.fromkeys(("torch", "torch_geometric", "ogb"), "pip install 'gnnbench[pyg]'"),
    "dgl": "pip install 'gnnbench[dgl]'",
    **dict.fromkeys(("jinja2", "altair", "vl_convert"), "pip install 'gnnbench[report]'"),
}
"""Package: the command that installs it, where that is not `pip install PACKAGE`."""

_INSTALL_FOR_CUDA = {"dgl": "its builds for CUDA are at https://www.dgl.ai/pages/start.html"}
"""Likewise, where the package on the index is for the CPU only."""


def is_installed(package: str) -> bool:
    """Tell whether a top-level package can be found."""
    return importlib.util.find_spec(package) is not None


def version(package: str) -> str | None:
    """Return the installed version, local part included, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def install_command(package: str, device: str = "cpu") -> str:
    """Return the command that brings a package, or on CUDA where it is, if it is on no index."""
    there = _INSTALL_FOR_CUDA.get(package) if device == "cuda" else None
    return there or INSTALL.get(package, f"pip install {package}")


def missing(packages: Iterable[str], device: str = "cpu") -> str | None:
    """Say which of the packages are not installed and how to get them; None where all are."""
    absent = [package for package in packages if not is_installed(package)]
    if not absent:
        return None
    verb = "is" if len(absent) == 1 else "are"
    # The last one's command brings what it builds on.
    return f"{' and '.join(absent)} {verb} not installed: {install_command(absent[-1], device)}"


@contextmanager
def hidden(*packages: str) -> Iterator[None]:
    """Let imports of these packages fail as if they were not installed."""
    modules = {name: sys.modules[name] for name in packages if name in sys.modules}
    sys.modules.update(dict.fromkeys(packages))  # type: ignore[arg-type]  # None stands for "not there"
    try:
        yield
    finally:
        for name in packages:
            sys.modules.pop(name, None)
        sys.modules.update(modules)
