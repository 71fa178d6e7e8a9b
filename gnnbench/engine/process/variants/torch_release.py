"""Another torch beside the installed one: what it needs, how large that is, what does not go with it."""

import importlib.metadata
import json
import mmap
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ...ground import units
from ...ground.errors import UsageError, one_line
from ...ground.packages import version
from ...interfaces import Listener
from ...measure.fingerprint.libraries import NATIVE
from .command import is_local, pip_install

_TORCH = "torch"
_LINKED = b"libc10."
"""In each native library that links to torch's."""
BROUGHT = ("cuda-", "nvidia-", "triton")
"""Beginnings of names of large packages that torch brings."""
_SECONDS = 10.0
_DISK = 3
"""Free space that an installation needs, divided by the size of its archives, which lie beside what pip makes
of them. With torch 2.12.0 for CUDA, 2.7 GB of archives made 4.7 GB."""


@dataclass(frozen=True)
class Needed:
    """A release of torch, and what it needs."""

    torch: str
    """A requirement that allows this release alone."""
    others: tuple[str, ...]
    """The same of each package that must be installed with it."""
    archive_bytes: int
    """Size of all archives, as far as the index says."""

    def check_space(self, folder: Path, listener: Listener) -> None:
        """Say how large it is."""
        size, needed = units.size(self.archive_bytes), self.archive_bytes * _DISK
        others = units.count(len(self.others), "package")
        listener.say(f"{self.torch} with {others} that it needs: {size} to fetch")
        if needed > (free := shutil.disk_usage(folder).free):
            raise UsageError(
                f"{self.torch} needs {units.size(needed)} to be installed, and {units.size(free)} is free in "
                f"{folder}: remove what earlier runs installed there"
            )


def is_torch(requirement: str) -> bool:
    """Whether a requirement for pip, or a wheel, is torch."""
    return _name(requirement) == _TORCH


def needed(requirement: str, path: Path | None, root: Path) -> Needed:
    """Ask pip which release of torch a requirement is, and what it needs, without installing anything.

    What is pure Python and installed here stays as it is if the release accepts its version: the sides then
    differ in torch alone.
    """
    options = ("--dry-run", "--ignore-installed", "--report=-")
    report = pip_install(options, [str(path or requirement)], root, f"pip:{one_line(requirement)}")
    packages = {canonicalize_name(each["metadata"]["name"]): each for each in json.loads(report)["install"]}
    asked = [
        Requirement(text)
        for package in packages.values()
        for text in package["metadata"].get("requires_dist", ())
    ]
    torch = packages.pop(canonicalize_name(_TORCH))
    others = [package for name, package in packages.items() if not _is_here(name, package, asked)]
    return Needed(
        requirement if path else _pin(torch),
        tuple(sorted(map(_pin, others))),
        sum(_bytes(package["download_info"]["url"]) for package in (torch, *others)),
    )


def not_usable(sides: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the top-level packages that were compiled for the installed torch, if a side has another torch.

    Each side is given by its requirements for pip. Packages that every side installs are left out.
    """
    if not any(is_torch(text) for side in sides for text in side):
        return ()
    brought = set.intersection(*({_name(text) for text in side} for side in sides))
    return tuple(sorted(set(_compiled(brought | {_TORCH}))))


def other_builds(base: Mapping[str, str], head: Mapping[str, str]) -> str:
    """Return a line if a side has a build of torch with a name and the other one without; or nothing."""
    builds = [side.get(_TORCH) or version(_TORCH) or "" for side in (base, head)]
    if _TORCH not in {*base, *head} or len({build.partition("+")[2] for build in builds}) == 1:
        return ""
    exact = next(build for build in builds if "+" in build).partition("+")[0]
    return (
        f"two builds of torch, {' and '.join(builds)}: they may differ in speed where the release does not; "
        f"pip:torch==={exact} is the build without a name"
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


def _is_here(name: str, package: dict[str, Any], asked: Iterable[Requirement]) -> bool:
    """Whether a package is pure Python, and here in a version that all that ask for it accept."""
    if not package["download_info"]["url"].partition("#")[0].endswith("-any.whl"):
        return False
    try:
        here = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return all(
        need.specifier.contains(here, prereleases=True)
        for need in asked
        if canonicalize_name(need.name) == name and (not need.marker or need.marker.evaluate({"extra": ""}))
    )


def _bytes(url: str) -> int:
    """Return the size of an archive; 0: its server does not say."""
    from urllib.request import Request, urlopen

    request = Request(url, method="HEAD")  # noqa: S310 - as pip found it
    with suppress(OSError, ValueError), urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
        return int(answer.headers["Content-Length"] or 0)
    return 0
