"""Packs packages for a machine without access to a package index, and installs them there."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = Path(tempfile.gettempdir(), "gnnbench-gpu-site")
"""Where they are installed: beside the machine's own, which stay as they are."""

LACKING = (
    *("jsonschema", "jsonschema-specifications", "referencing", "rpds-py", "attrs"),
    *("ogb", "outdated", "littleutils", "platformdirs", "importlib-metadata"),
)
"""Of gnnbench's requirements, those that an image with PyTorch and PyG seldom has."""
SOURCES = ("torch_scatter", "torch_sparse")
"""Built there, against its PyTorch and with its nvcc."""
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64")


def pack(folder: Path, python: str) -> None:
    """Fetch the packages for Linux on x86-64, of the versions in constraints.txt, and build gnnbench's own.

    That has its entry points, by which pytest finds the plugin; its code is the repository's.
    """
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    fetch = [*pip, "download", "-q", "--no-deps", "-d", str(folder), "-c", str(ROOT / "constraints.txt")]
    platforms = [word for name in _PLATFORMS for word in ("--platform", name)]
    binary = ["--only-binary=:all:", "--python-version", python, "--implementation", "cp", *platforms]
    subprocess.run([*fetch, *binary, *LACKING], check=True)
    subprocess.run([*fetch, "--no-binary=:all:", "--no-build-isolation", *SOURCES], check=True)
    build = [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run(build, check=True)


def install(folder: Path | None, built: Path) -> None:
    """Install wheels that were brought along, and those that a call before has built, once."""
    wheels = [*(folder.glob("*.whl") if folder else ()), *(built / "wheels").glob("*.whl")]
    wanted = {wheel.name for wheel in wheels}
    marker = SITE / "installed.txt"
    if wanted <= set(marker.read_text(encoding="utf-8").split() if marker.exists() else ()):
        return
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*command, "--upgrade", "--target", str(SITE), *map(str, wheels)], check=True)
    marker.write_text("\n".join(sorted(wanted)) + "\n", encoding="utf-8")


def source(folder: Path | None, name: str) -> str:
    """Return what pip is to build a package of: its source distribution, or its name on the index."""
    found = sorted((folder or Path("/nonexistent")).glob(f"{name}-*.tar.gz"))
    return str(found[-1]) if found else name
