"""What pip installs for a variant: packages, or another release of torch than the installed one.

An overlay is a folder of the cache into which pip installs one requirement and perhaps its dependencies.
"""

import hashlib
import importlib.metadata
import json
import mmap
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ...ground.errors import UsageError, one_line
from ...ground.packages import version
from ...interfaces import Listener
from ...measure.fingerprint.libraries import NATIVE
from .command import call, last_line
from .stored import stored
from .variant import is_local, local_path

FOLDER = "overlays"
MOST_BYTES = 20 * 2**30
"""Largest size of all overlays together; overlays in use are never removed."""
_PACKAGES = "packages"
"""Folder of an overlay into which pip installs."""
_OPTIONS = ("--no-input", "--disable-pip-version-check", "--no-user", "--quiet")
_TORCH = "torch"
_LINKED = b"libc10."
"""Text in each compiled library that links to torch's libraries."""
BROUGHT = ("cuda-", "nvidia-", "triton")
"""Beginnings of names of large packages on which torch depends."""


@contextmanager
def overlay(
    requirement: str, root: Path, listener: Listener, cache: Path, *, dependencies: bool
) -> Iterator[Path]:
    """Yield a folder into which pip has installed a requirement.

    `dependencies`: whether pip also installs the dependencies, as it always does for torch.
    """
    part, text = one_line(f"pip:{requirement}"), one_line(requirement)
    path = local_path(requirement, root) if is_local(requirement) else None
    if path and not path.is_file():
        raise UsageError(
            f"{part} is not a file (relative to {root}): give an archive, pip:NAME==VERSION or path:DIR"
        )
    source = str(path or requirement)
    options = () if dependencies or _is_torch(requirement) else ("--no-deps",)
    may_change = dependencies or not (path or is_pinned(requirement))
    entries = _report(source, root, part, options) if may_change else []
    state = path and (path.stat().st_size, path.stat().st_mtime_ns)
    folder = cache / FOLDER / _key(source, state, [entry["download_info"] for entry in entries])
    packages = folder / _PACKAGES

    def fill() -> None:
        listener.step(f"installing {text}")
        _install([f"--target={packages}", *options], source, root, part)
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
    """Return a hash of the inputs and of everything else that determines what pip installs."""
    # Variables of pip may choose another index, or allow pre-releases.
    settings = sorted(item for item in os.environ.items() if item[0].startswith("PIP_"))
    python = (sys.version, sysconfig.get_platform(), sys.prefix)
    return hashlib.sha256(repr((inputs, settings, python)).encode()).hexdigest()[:24]


def _is_torch(requirement: str) -> bool:
    return _name(requirement) == _TORCH


def not_usable(sides: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the top-level packages that were compiled for the installed torch, if a side has another torch.

    `sides`: the requirements of each side. Packages that all sides install are not returned.
    """
    if not any(_is_torch(text) for side in sides for text in side):
        return ()
    common = set.intersection(*({_name(text) for text in side} for side in sides))
    return tuple(sorted(set(_compiled(common | {_TORCH}))))


def other_builds(base: Mapping[str, str], head: Mapping[str, str]) -> str:
    """Return a line if the sides' builds of torch have different suffixes, such as +cpu, or an empty text."""
    builds = [side.get(_TORCH) or version(_TORCH) or "" for side in (base, head)]
    if _TORCH not in {*base, *head} or len({build.partition("+")[2] for build in builds}) == 1:
        return ""
    release = next(build for build in builds if "+" in build).partition("+")[0]
    return (
        f"two builds of torch, {' and '.join(builds)}: builds of one release may differ in speed; "
        f"pip:torch==={release} is the build without a suffix"
    )


def _compiled(except_for: Iterable[str]) -> Iterator[str]:
    """Yield the installed top-level packages with a compiled library that links to torch's libraries."""
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


def is_pinned(requirement: str) -> bool:
    """Whether a requirement that is not local allows exactly one release."""
    specifiers = list(Requirement(requirement).specifier)
    return any(part.operator in {"==", "==="} and "*" not in part.version for part in specifiers)


def _install(options: Sequence[str], requirement: str, root: Path, part: str) -> str:
    """Run `pip install`, and return its output; `part` is what an error calls the requirement."""
    # -P: import nothing from the working directory.
    python = (sys.executable, "-P", "-m", "pip", "install", *_OPTIONS)
    answer = call([*python, *options, "--", requirement], root, os.environ)
    if not answer.returncode:
        return answer.stdout
    if "No module named pip" in answer.stderr:
        raise UsageError(f"{part} needs pip: install it with {sys.executable} -m ensurepip")
    # pip explains a conflict in the line before ResolutionImpossible.
    errors = re.findall(r"^ERROR: (?!ResolutionImpossible)(.+)", answer.stderr, re.MULTILINE)
    reason = last_line("\n".join(errors) or answer.stderr) or f"it ended with exit status {answer.returncode}"
    raise UsageError(f"{part}: pip cannot install it: {reason}")


def _report(requirement: str, root: Path, part: str, options: Sequence[str]) -> list[Any]:
    """Return what pip would install: the entries of `install` in its JSON report."""
    # Even packages whose installed versions satisfy the requirement.
    output = _install(["--dry-run", "--report=-", "--ignore-installed", *options], requirement, root, part)
    return list(json.loads(output)["install"])
