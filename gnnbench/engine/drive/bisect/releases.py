"""The releases of a package between two ends, as pip's index has them."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from ...ground.errors import UsageError
from ...measure.sources import installed
from ...process.variants.command import call, last_line
from .line import Candidate, Cause, Line, skipped

_PIP = (sys.executable, "-P", "-m", "pip")
_QUIET = ("--no-input", "--disable-pip-version-check")


def line(
    name: str, good: str, bad: str, root: Path, *, common: Sequence[str] = (), skip: Sequence[str] = ()
) -> Line:
    """Return the line of releases between two ends, without pre-releases and yanked releases.

    Where neither end names a build, as `2.13.0+cpu` does, releases that exist without one are taken so: pip
    alone would prefer builds that only some releases have.

    Args:
        good: the version of the good end, which may be newer than that of the bad one.
    """
    ends = Version(good), Version(bad)
    found = available(name, root)
    between = sorted(
        {Version(one.public) for one in found if min(ends) < one < max(ends)}
        - {Version(one.public) for one in ends}
    )
    plain = {str(one) for one in found if not (one.local or ends[0].local or ends[1].local)}
    several = plain & {one.public for one in found if one.local}
    if ends[0] > ends[1]:
        between.reverse()
    texts = [good, *map(str, between), bad]
    here = installed(canonicalize_name(name).replace("-", "_"))
    candidates = []
    for number, text in enumerate(texts):
        pin = f"pip:{name}{'===' if text in several else '=='}{text}"
        parts = [] if here and here.version == text else [pin]  # what is installed here need not be again
        cause = Cause("release", f"{name} {text}") if number else None
        candidates.append(Candidate(f"{name} {text}", shlex.join([*parts, *common]) or ".", cause))
    places = {text: position for position, text in enumerate(texts)}
    return Line("release", tuple(candidates), skipped(skip, places))


def pinned(text: str) -> tuple[str, str]:
    """Read `NAME==VERSION`."""
    try:
        found = Requirement(text)
        (pin,) = found.specifier
        Version(pin.version)
    except (ValueError, RecursionError):
        found = None
    if not found or found.url or found.extras or found.marker or pin.operator not in {"==", "==="}:
        raise UsageError(f"{'pip:' + text!r} is not one release: give pip:NAME==VERSION")
    return found.name, pin.version


def available(name: str, root: Path, *, early: bool = False) -> list[Version]:
    """Return the final releases, and their builds, that pip finds for this environment; none is yanked.

    `early`: also what comes before a release, such as nightly builds.
    """
    options = (*_QUIET, "--pre") if early else _QUIET
    answer = call([*_PIP, "index", "versions", *options, "--", name], root, os.environ)
    listed = re.search(r"^Available versions: (.+)$", answer.stdout, re.MULTILINE)
    if answer.returncode or not listed:
        reason = last_line(answer.stderr) or "it lists none"
        raise UsageError(f"pip finds no releases of {name}: {reason}; check the name and the index")
    found = []
    for text in listed[1].split(","):
        try:
            found.append(Version(text.strip()))
        except InvalidVersion:
            continue
    return [one for one in found if early or not one.is_prerelease]
