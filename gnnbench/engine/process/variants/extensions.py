"""The compiled modules of a project: whether it has any, and where those are that are in use here."""

import importlib.metadata
import re
import shlex
from contextlib import suppress
from pathlib import Path

from ...ground.files import real_path
from ...measure.fingerprint.libraries import NATIVE
from .import_roots import Place
from .places import is_compiled

_SAYS = ("pyproject.toml", "setup.py", "setup.cfg")
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
    return f"--build {shlex.quote(' '.join(('pip install', *isolated, '.')))}"


def in_use(home: Path) -> frozenset[str]:
    """Return the compiled modules that are installed here of a project."""
    modules: set[str] = set()
    for name in set(_NAME.findall(_settings(home))):
        with suppress(importlib.metadata.PackageNotFoundError, ValueError):
            files = importlib.metadata.files(name) or ()
            natives = (file for file in files if NATIVE.search(file.name))
            modules |= {str(real_path(Path(str(file.locate())))) for file in natives}
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
