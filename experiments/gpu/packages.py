"""Packs packages for a machine without access to a package index, and installs there those that it lacks."""

import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).parents[2]
SITE = Path(tempfile.gettempdir(), "gnnbench-gpu-site")
"""Where they are installed: beside the machine's own, which stay as they are."""

_NEEDED = ("gnnbench[pyg]", "cmarkgfm")
"""By the suite, and by the tests that need a GPU."""
_THERE = (
    *("torch", "torch_geometric", "numpy", "scipy", "pandas", "scikit-learn"),
    *("pytest", "pytest-benchmark", "pytest-xdist", "hypothesis", "rich", "nvidia-ml-py"),
)
"""An image with PyTorch and PyG has these, and what they need."""
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64")


def lacking() -> list[str]:
    """Return what gnnbench and its tests need here and an image with PyTorch and PyG seldom has."""
    return sorted(_closure(_NEEDED) - _closure(_THERE) - {"gnnbench"})


def _closure(requirements: tuple[str, ...]) -> set[str]:
    """Return the names of packages and of all that they need."""
    found: set[str] = set()
    left = [Requirement(text) for text in requirements]
    while left:
        one = left.pop()
        name = canonicalize_name(one.name)
        if name in found and not one.extras:
            continue
        found.add(name)
        extras = {"", *one.extras}
        for text in metadata.requires(name) or ():
            needed = Requirement(text)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                left.append(needed)
    return found


def pack(folder: Path, python: str) -> None:
    """Fetch the packages for Linux on x86-64, of the versions in constraints.txt, and build gnnbench's own.

    That has its entry points, by which pytest finds the plugin; its code is the repository's.
    """
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    fetch = [*pip, "download", "-q", "--no-deps", "-d", str(folder), "-c", str(ROOT / "constraints.txt")]
    platforms = [word for name in _PLATFORMS for word in ("--platform", name)]
    binary = ["--only-binary=:all:", "--python-version", python, "--implementation", "cp", *platforms]
    subprocess.run([*fetch, *binary, *lacking()], check=True)
    for older in folder.glob("gnnbench-*.whl"):
        older.unlink()
    build = [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run(build, check=True)


def install(folder: Path | None) -> None:
    """Install what is not there of the wheels that were brought along."""
    wheels = folder.glob("*.whl") if folder else ()
    wanted = [wheel for wheel in wheels if not _is_there(parse_wheel_filename(wheel.name)[0])]
    if wanted:
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile"]
        subprocess.run([*command, "--target", str(SITE), *map(str, wanted)], check=True)


def _is_there(name: str) -> bool:
    """Return whether the machine has a package, or it was installed beside the machine's own."""
    return any(True for _ in metadata.distributions(name=name, path=[*sys.path, str(SITE)]))
