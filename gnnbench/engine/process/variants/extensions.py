"""The compiled modules of a project: whether it has any, and where those are that are in use here."""

import importlib.metadata
import os
import re
import shlex
from contextlib import suppress
from pathlib import Path

from ...ground.files import real_path
from ...measure.fingerprint.libraries import NATIVE
from .import_roots import Place
from .places import is_compiled

_SAYS = ("pyproject.toml", "setup.py", "setup.cfg", "CMakeLists.txt", "meson.build")
_COMPILES = re.compile(
    r"ext[_-]modules|Extension\(|cythonize|cffi_modules|rust_?extensions|setuptools.rust|maturin|mesonpy"
    r"|scikit.build|skbuild|mypycify|pybind11|nanobind|cpp_extension"
)
"""How these files say that something is compiled."""
_NAME = re.compile(r"\bname\s*=\s*[\"']?([\w.-]+)")
"""What may be the name of the project in them."""
_NOT_ISOLATED = re.compile(r"cpp_extension|import (torch|numpy)")


def _settings(home: Path) -> str:
    text = ""
    for name in _SAYS:
        with suppress(OSError):
            text += (home / name).read_text(encoding="utf-8", errors="replace")
    return text


def advice(home: Path) -> str:
    """Return what to type so that a project's compiled modules are built; empty if it has none."""
    text = _settings(home)
    if not _COMPILES.search(text):
        return ""
    isolated = ("--no-build-isolation",) if _NOT_ISOLATED.search(text) else ()
    return f"--build {shlex.quote(' '.join(('pip install', *isolated, '.')))} (pytest: --gnn-build)"


def in_use(home: Path) -> frozenset[str]:
    """Return the compiled modules of a project that are installed here, or in folders of PYTHONPATH."""
    text = _settings(home)
    folders = map(Path, filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    files = (file for folder in folders for depth in ("*", "*/*") for file in folder.glob(depth))
    natives = (file for file in files if NATIVE.search(file.name))
    words = set(re.findall(r"\w+", text))
    modules = {str(real_path(file)) for file in natives if file.name.partition(".")[0] in words}
    for name in set(_NAME.findall(text)):
        with suppress(importlib.metadata.PackageNotFoundError, ValueError):
            listed = importlib.metadata.files(name) or ()
            installed = (Path(str(file.locate())) for file in listed if NATIVE.search(file.name))
            modules |= {str(real_path(file)) for file in installed}
    return frozenset(modules)


def note(home: Path, place: Place) -> str:
    """Return what is amiss with a commit that is not built, and what to type; empty if nothing is."""
    build = advice(home)
    if not build:
        return ""
    if changed := sorted(filter(is_compiled, place.changed)):
        return f"is not built, and has another {changed[0]}: what is compiled is not compared; add {build}"
    if not any(NATIVE.search(name) for name in (*place.ignored, *place.foreign)):
        return f"is not built, and the working tree has no compiled modules; add {build}"
    return ""
