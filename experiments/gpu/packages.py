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
"""Folder of the installed packages; the machine's own packages are not changed."""

_NEEDED = ("gnnbench[pyg]", "cmarkgfm")
"""Requirements of the suite, and of the tests that need a GPU."""
_THERE = (
    *("torch", "torch_geometric", "numpy", "scipy", "pandas", "scikit-learn"),
    *("pytest", "pytest-benchmark", "pytest-xdist", "hypothesis", "rich", "nvidia-ml-py"),
)
"""Packages that an image with PyTorch and PyG has, together with their dependencies."""
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64")


def lacking() -> list[str]:
    """Return the packages that gnnbench and its tests need, and that an image with PyTorch and PyG lacks."""
    return sorted(_closure(_NEEDED) - _closure(_THERE) - {"gnnbench"})


def _closure(requirements: tuple[str, ...]) -> set[str]:
    """Return the names of packages and of all their dependencies."""
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
    """Download the packages for Linux on x86-64, as in constraints.txt, and build the wheel of gnnbench.

    pytest finds the plugin by the wheel's entry points; the code that runs is the repository's.
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
    """Install those packed wheels that the machine lacks."""
    wheels = folder.glob("*.whl") if folder else ()
    wanted = [wheel for wheel in wheels if not _is_there(parse_wheel_filename(wheel.name)[0])]
    if wanted:
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile"]
        subprocess.run([*command, "--target", str(SITE), *map(str, wanted)], check=True)


def _is_there(name: str) -> bool:
    """Return whether a package is installed on the machine or in SITE."""
    return any(True for _ in metadata.distributions(name=name, path=[*sys.path, str(SITE)]))
