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

_NEEDED = ("gnnbench[pyg]", "cmarkgfm", "torch-tb-profiler")
"""By the suite, and by the tests that need a GPU."""
_THERE = (
    *("torch", "torch_geometric", "numpy", "scipy", "pandas", "scikit-learn"),
    *("pytest", "pytest-benchmark", "pytest-xdist", "hypothesis", "rich", "nvidia-ml-py", "tensorboard"),
)
"""An image with PyTorch and PyG has these, and what they need."""
SOURCES = ("torch_scatter", "torch_sparse")
"""Built there, against its PyTorch and with its nvcc, unless the folder has wheels of them."""
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
    subprocess.run([*fetch, "--no-binary=:all:", "--no-build-isolation", *SOURCES], check=True)
    for older in folder.glob("gnnbench-*.whl"):
        older.unlink()
    build = [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run(build, check=True)


def install(folder: Path | None, built: Path) -> None:
    """Install what is not there of the wheels that were brought along, or built by an earlier call."""
    wheels = [*(folder.glob("*.whl") if folder else ()), *(built / "wheels").glob("*.whl")]
    wanted = [wheel for wheel in wheels if not is_there(parse_wheel_filename(wheel.name)[0])]
    if wanted:
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile"]
        subprocess.run([*command, "--target", str(SITE), *map(str, wanted)], check=True)


def is_there(name: str) -> bool:
    """Return whether the machine has a package, or it was installed beside the machine's own."""
    return any(True for _ in metadata.distributions(name=name, path=[*sys.path, str(SITE)]))


def source(folder: Path | None, name: str) -> str:
    """Return what pip is to build a package of: its source distribution, or its name on the index."""
    found = sorted((folder or Path("/nonexistent")).glob(f"{name}-*.tar.gz"))
    return str(found[-1]) if found else name
