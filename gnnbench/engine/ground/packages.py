"""Finds installed packages and their versions without importing them."""

import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata

from .errors import one_line

_FROM_SOURCE = "pip install --no-build-isolation"

DRAWING = ("altair", "vl_convert")
PAGES = ("jinja2", *DRAWING)
"""Packages that charts and pages need."""

INSTALL = {
    "torch_scatter": f"{_FROM_SOURCE} torch_scatter",
    "torch_sparse": f"{_FROM_SOURCE} torch_scatter torch_sparse",
    **dict.fromkeys(("torch", "torch_geometric", "ogb"), "pip install 'gnnbench[pyg]'"),
    "dgl": "pip install 'gnnbench[dgl]'" if sys.version_info < (3, 13) else "it needs Python 3.11 or 3.12",
    **dict.fromkeys(PAGES, "pip install 'gnnbench[report]'"),
}
"""Install commands by package, where they are not `pip install PACKAGE`."""


def is_installed(package: str) -> bool:
    """Tell, without an import, whether a top-level package is installed, not just a folder of its name."""
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None


def version(package: str) -> str | None:
    """Return the installed version with its local part, as in `2.4.0+cpu`, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def install_command(package: str, device: str = "cpu") -> str:
    """Return the command that installs a package for a device, or the address of its CUDA builds."""
    if package == "pyg_lib":  # built for each version of torch, and not on the package index
        return f"pip install pyg_lib -f https://data.pyg.org/whl/torch-{version('torch')}.html"
    if package == "dgl" and device == "cuda":  # the package index has only the build for the CPU
        return "its builds for CUDA are at https://www.dgl.ai/pages/start.html"
    return INSTALL.get(package, f"pip install {package}")


def missing(packages: Iterable[str], device: str = "cpu") -> str | None:
    """Return which packages are missing and how to install them. Returns None if all are installed."""
    absent = [package for package in packages if not is_installed(package)]
    if not absent:
        return None
    *others, last = absent
    text = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    # The last package's command installs the packages before it too.
    return f"{text} not installed: {install_command(last, device)}"


def unusable(package: str) -> str | None:
    """Import a package, and return in one line why it cannot be used. Returns None if it can."""
    if reason := missing((package,)):
        return reason
    try:
        importlib.import_module(package)
    except Exception as error:  # noqa: BLE001 - a broken installation may raise anything
        line, *_ = str(error).splitlines() or [type(error).__name__]
        return one_line(f"{package} cannot be imported: {line}")
    return None


def missing_one_of(packages: Sequence[str]) -> str | None:
    """Return a message if none of `packages` is installed. Returns None otherwise, or for no packages."""
    if not packages or any(map(is_installed, packages)):
        return None
    if len(packages) == 1:
        return missing(packages)
    return f"none of {', '.join(packages)} is installed: {install_command(packages[-1])}"


@contextmanager
def hidden(*packages: str) -> Iterator[None]:
    """Make imports of these packages fail as if they were not installed."""
    modules = {name: sys.modules[name] for name in packages if name in sys.modules}
    sys.modules.update(dict.fromkeys(packages))  # type: ignore[arg-type]  # None makes the import fail
    try:
        yield
    finally:
        for name in packages:
            sys.modules.pop(name, None)
        sys.modules.update(modules)
