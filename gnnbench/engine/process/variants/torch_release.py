"""Another torch in addition to the installed one: its dependencies, and packages that it cannot use."""

import importlib.metadata
import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ...ground.packages import version
from ...measure.fingerprint.libraries import NATIVE
from .command import is_local, pip_report

_TORCH = "torch"
_LINKED = b"libc10."
"""Text in each native library that links to torch's libraries."""
BROUGHT = ("cuda-", "nvidia-", "triton")
"""Beginnings of names of large packages that torch brings."""


def is_torch(requirement: str) -> bool:
    """Whether a requirement for pip, or a wheel, is torch."""
    return _name(requirement) == _TORCH


def needed(torch: str, root: Path, part: str) -> list[str]:
    """Return the dependencies of a release of torch, as requirements that allow one release each.

    Pure Python packages that are installed stay as they are if the release accepts their versions: the sides
    then differ in torch alone.
    """
    packages = {canonicalize_name(item["metadata"]["name"]): item for item in pip_report(torch, root, part)}
    needs = [
        Requirement(text)
        for package in packages.values()
        for text in package["metadata"].get("requires_dist", ())
    ]
    del packages[canonicalize_name(_TORCH)]
    return sorted(_pin(package) for name, package in packages.items() if not _is_here(name, package, needs))


def not_usable(sides: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the top-level packages that were compiled for the installed torch, if a side has another torch.

    Each side is given by its requirements for pip. Packages that every side installs are left out.
    """
    if not any(is_torch(text) for side in sides for text in side):
        return ()
    common = set.intersection(*({_name(text) for text in side} for side in sides))
    return tuple(sorted(set(_compiled(common | {_TORCH}))))


def other_builds(base: Mapping[str, str], head: Mapping[str, str]) -> str:
    """Return a line if the sides have builds of torch with different names, such as +cpu. Empty if not."""
    builds = [side.get(_TORCH) or version(_TORCH) or "" for side in (base, head)]
    if _TORCH not in {*base, *head} or len({build.partition("+")[2] for build in builds}) == 1:
        return ""
    release = next(build for build in builds if "+" in build).partition("+")[0]
    return (
        f"two builds of torch, {' and '.join(builds)}: builds of one release may differ in speed, too; "
        f"pip:torch==={release} is the build without a suffix"
    )


def _compiled(except_for: Iterable[str]) -> Iterator[str]:
    """Yield the top-level packages with a native library that links to torch's."""
    for distribution in importlib.metadata.distributions():
        name = canonicalize_name(distribution.metadata["Name"] or "")
        if name in except_for or name.startswith(BROUGHT):
            continue
        for file in distribution.files or ():
            if NATIVE.search(file.name) and _links(Path(str(file.locate()))):
                yield file.parts[0].partition(".")[0]


def _links(library: Path) -> bool:
    with suppress(OSError, ValueError), library.open("rb") as file:  # an empty file cannot be mapped
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ).find(_LINKED) >= 0
    return False


def _name(requirement: str) -> str:
    if is_local(requirement):
        return canonicalize_name(PurePath(requirement).name.partition("-")[0])
    return canonicalize_name(Requirement(requirement).name)


def _pin(package: dict[str, Any]) -> str:
    return f"{package['metadata']['name']}=={package['metadata']['version']}"


def _is_here(name: str, package: dict[str, Any], needs: Iterable[Requirement]) -> bool:
    """Whether a package is pure Python, and installed in a version that all requirements accept."""
    if not package["download_info"]["url"].partition("#")[0].endswith("-any.whl"):
        return False
    try:
        version_here = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return all(
        need.specifier.contains(version_here, prereleases=True)
        for need in needs
        if canonicalize_name(need.name) == name and (not need.marker or need.marker.evaluate({"extra": ""}))
    )
