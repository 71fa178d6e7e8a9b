"""The commands that time benchmarks of a result again, or find the commit that changed them."""

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from ..ground import git
from ..ground.errors import UsageError
from ..ground.packages import version
from ..process.plan import Plan
from ..process.variants import rebuild, variant
from ..process.variants.collected import Suite
from ..process.variants.variant import WORKING_TREE, Commit, Prepared, Variant, pinned
from ..store.run_file import RunFile

MOST_IDS = 5
"""Largest number of ids or files in a command."""


@dataclass(frozen=True)
class Commands:
    """Commands that investigate benchmarks of a comparison further."""

    ab: str
    """The command that compares the benchmarks again."""
    bisect: str | None
    """The command that finds the change. None without ends of a bisection, or with `--plant`."""


@dataclass(frozen=True)
class Repeat:
    """The variants and options of a comparison, from which its commands are built."""

    base: str
    """The older side, as a variant."""
    head: str
    ends: tuple[str, str] | None = None
    """Good and bad end of a bisection. None if there is nothing to search: see `ends_of`."""
    options: tuple[str, ...] = ()
    """Options of `gnnbench ab`."""
    pytest: tuple[str, ...] = ()
    """Arguments of pytest, except `places`."""
    places: tuple[str, ...] = ()
    """The folders, files and ids among pytest's arguments."""
    rootdir: str = "."
    """The folder to which ids of tests are relative, as a path from the command's folder."""

    def commands(self, names: Sequence[str]) -> Commands:
        """Return the commands that compare and bisect benchmarks. `names`: ids of their tests."""
        words = self._selection(names)
        ab, bisect = (
            shlex.join(["gnnbench", command, *sides, *self.options, "--", *words])
            for command, sides in (("ab", (self.base, self.head)), ("bisect", self.ends or ()))
        )
        can_bisect = self.ends and "--plant" not in self.options  # no commit made a planted change
        return Commands(ab, bisect if can_bisect else None)

    def arguments(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return arguments with which pytest runs some tests or files. `names`: their ids or paths."""
        return (*self.pytest, *map(self._typed, names))

    def _selection(self, names: Sequence[str]) -> Sequence[str]:
        """Return arguments with which pytest runs at least the named benchmarks."""
        files = list(dict.fromkeys(name.partition("::")[0] for name in names))
        if len(names) > MOST_IDS and len(files) > MOST_IDS and self.places:
            return (*self.pytest, *self.places)
        return self.arguments(names if len(names) <= MOST_IDS else files)

    def _typed(self, name: str) -> str:
        """Return an id or a file as the user would type it."""
        file, colons, rest = name.partition("::")
        path = os.path.normpath(f"{self.rootdir}/{file}")
        # A file's name could be read as an option.
        return f"{'./' if path.startswith('-') else ''}{path}{colons}{rest}"


def of_variants(base: Prepared, head: Prepared, plan: Plan, suite: Suite) -> Repeat:
    """Return how commands compare two variants again. `suite`: the tests that both sides collected."""
    sides = variant.parse(base.text), variant.parse(head.text)
    ends = ends_of(*sides, plan.folder, clean=not head.dirty)
    words = tuple(word for word in plan.arguments if word not in suite.places)
    return Repeat(base.text, head.text, ends, plan.options, words, suite.places, suite.rootdir)


def of_runs(base: RunFile, head: RunFile, options: tuple[str, ...]) -> Repeat | None:
    """Return how commands compare the code of two runs again. Returns None if it cannot be built again."""
    old, new = base.sources, head.sources
    if not old or not new or any(tree.dirty for tree in (*old.trees, *new.trees)):
        return None
    try:
        older = variant.parse(rebuild.variant(old, new))
        newer = variant.parse(rebuild.variant(new, old))
    except UsageError:
        return None
    if older == newer:
        return None  # the difference is neither a commit nor a version
    return Repeat(older.text, newer.text, ends_of(older, newer, Path(), clean=True), options)


def ends_of(base: Variant, head: Variant, root: Path, *, clean: bool) -> tuple[str, str] | None:
    """Return the good and the bad end of a bisection: commits of one repository, or releases of one package.

    Returns None if the sides are neither, or if the second commit directly follows the first. `root`: the
    folder from which paths start. `clean`: whether the working tree has no known uncommitted changes.
    """
    older, newer = (
        side.parts[0] if len(side.parts) == 1 and isinstance(side.parts[0], Commit) else None
        for side in (base, head)
    )
    is_working_tree = head.text == WORKING_TREE
    if older and older.folder is None and is_working_tree and clean:
        newer = Commit("HEAD")
        head = Variant(str(newer))
    if older and newer:
        is_searchable = older.folder == newer.folder and not _is_next(older, newer, root)
        return (base.text, head.text) if is_searchable else None
    package, other = map(_package, (base, head))
    if package and is_working_tree and (installed := version(package)):
        # Package indexes have no local parts of versions, such as `+cpu`.
        return base.text, f"{base.text.partition('=')[0]}=={installed.partition('+')[0]}"
    return (base.text, head.text) if package and package == other else None


def _is_next(older: Commit, newer: Commit, root: Path) -> bool:
    """Return whether no commit lies between two commits of a repository. False if that is unknown."""
    with suppress(UsageError):  # this clone lacks a commit
        repository = older.repository(root)
        ends = repository.commit(older.ref), repository.commit(newer.ref)
        return len(git.commits_between(repository.root, *ends)) == 1
    return False


def _package(side: Variant) -> str | None:
    """Return the name of the package if a variant is a release of one. Returns None otherwise."""
    kind, _, text = side.text.partition(":")
    with suppress(UsageError):
        return canonicalize_name(pinned(text)[0]) if kind == "pip" else None
    return None
