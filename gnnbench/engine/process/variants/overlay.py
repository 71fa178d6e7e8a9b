"""Overlays: folders in the cache into which pip installs a variant's packages."""

import hashlib
import importlib.metadata
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ...ground.errors import UsageError, one_line
from ...interfaces import Listener
from . import torch_release
from .command import is_local, is_pinned, pip_install, pip_report
from .stored import stored
from .variant import local_path

FOLDER = "overlays"
MOST_BYTES = 20 * 2**30
"""Largest size of all overlays together; overlays in use are never removed."""
_PACKAGES = "packages"
"""The folder in which pip installs."""


@contextmanager
def overlay(
    requirement: str, root: Path, listener: Listener, cache: Path, *, dependencies: bool
) -> Iterator[Path]:
    """Yield a folder with an installed requirement; torch always comes with its dependencies."""
    is_torch, part = torch_release.is_torch(requirement), one_line(f"pip:{requirement}")
    path = local_path(requirement, root) if is_local(requirement) else None
    if path and not path.is_file():
        raise UsageError(
            f"{part} is no file (from {root}): give an archive or pip:NAME==VERSION; path:DIR is a folder"
        )
    source = str(path or requirement)
    options = () if dependencies and not is_torch else ("--no-deps",)
    is_open = not options or not (path or is_pinned(requirement))
    entries = pip_report(source, root, part, options) if is_open else []
    state = path and (path.stat().st_size, path.stat().st_mtime_ns)
    folder = cache / FOLDER / _key(source, state, [entry["download_info"] for entry in entries])
    packages, text = folder / _PACKAGES, one_line(requirement)

    def fill() -> None:
        dependency_pins: Sequence[str] = ()
        if is_torch:
            listener.step(f"asking pip what {text} needs")
            dependency_pins = torch_release.needed(source, root, part)
        listener.step(f"installing {text}")
        pip_install([f"--target={packages}", *options], [*dependency_pins, source], root, part)
        if not versions(packages):
            raise UsageError(f"{part} installs nothing in this environment: check its environment markers")

    with stored(folder, MOST_BYTES, fill, listener, f"installed {text}"):
        if entries:
            releases = ", ".join(f"{name} {version}" for name, version in versions(packages).items())
            listener.say(f"{text} resolved to {releases}")
        yield packages


def versions(folder: Path) -> dict[str, str]:
    """Return the names and versions of the packages in an overlay."""
    installed = importlib.metadata.distributions(path=[str(folder)])
    return dict(sorted((package.metadata["Name"], package.version) for package in installed))


def _key(*inputs: object) -> str:
    """Return a hash of everything that determines what pip installs, such as the releases it resolved."""
    # Pip's variables may choose another index, or allow pre-releases.
    settings = sorted(item for item in os.environ.items() if item[0].startswith("PIP_"))
    python = (sys.version, sysconfig.get_platform(), sys.prefix)
    return hashlib.sha256(repr((inputs, settings, python)).encode()).hexdigest()[:24]
