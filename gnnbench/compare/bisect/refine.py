"""Looks closer at a step that was found: the releases of a package, then the commits of a release."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from packaging.utils import canonicalize_name

from ... import git
from ...errors import UsageError
from ...variants.overlay import local_path
from ...variants.worktree import Repository
from . import commits, releases
from .line import Candidate, Cause, Line, Move

_TAGS = ("v{}", "{}", "{name}-{}", "{name}-v{}", "release-{}")
"""How repositories call the tag of a release."""


def repositories(given: list[str]) -> dict[str, str]:
    """Read the values of `--repository`, NAME=DIR.

    Raises:
        UsageError: one has another form.
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, folder = text.partition("=")
        if not (name and equals and folder):
            raise UsageError(
                f"--repository {shlex.quote(text)} must be NAME=DIR, as in torch_geometric=../pyg"
            )
        found[canonicalize_name(name)] = folder
    return found


def closer(
    line: Line, before: Candidate, cause: Cause, repositories: Mapping[str, str], root: Path
) -> Line | None:
    """Return the line within a step; None: it cannot be divided.

    Args:
        line: where the step was found.
        before: the candidate before it.
        cause: what it changes.
        repositories: folders by canonical name of the package.
        root: the caller's folder.

    Raises:
        UsageError: the releases cannot be listed, or a repository cannot be used.
    """
    if len(cause.moves) != 1:
        return None
    (move,) = cause.moves
    parts = [part for part in shlex.split(before.variant) if part != "."]
    common = [part for part in parts if not part.startswith(f"pip:{move.name}==")]
    if line.kind == "package":
        found = releases.line(move.name, move.old, move.new, root, common=common)
        if found.last > 1:
            return found
    typed = repositories.get(canonicalize_name(move.name))
    return None if typed is None else _commits(move, typed, common, root)


def _commits(move: Move, typed: str, common: list[str], root: Path) -> Line:
    folder = local_path(typed, root)
    if not folder.is_dir():
        raise UsageError(f"--repository {move.name}={typed}: there is no such folder (from {root})")
    repository = Repository.at(folder, f"--repository {move.name}={typed}")
    names = git.tags(repository.root)
    tags = []
    for version in (move.old, move.new):
        wanted = [form.format(version, name=move.name) for form in _TAGS]
        tag = next((one for one in wanted if one in names), None)
        if tag is None:
            raise UsageError(
                f"the repository {typed} has no tag of {move.name} {version}, such as {wanted[0]}"
            )
        tags.append(tag)
    # A variant's folder begins with `.`, `/` or `~`.
    typed = typed if typed.startswith((".", "/", "~")) else f"./{typed}"
    return commits.line(folder, typed, tags[0], tags[1], common=common)
