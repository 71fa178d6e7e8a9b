"""The part `git:REF`, or `git:DIR@REF`, of a variant: a commit, checked out into a new worktree."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import ClassVar, Self

from ...ground import git
from ...ground.errors import UsageError, one_line
from ...ground.files import project, writing
from ...interfaces import VariantPart
from . import places
from .builds import Source, built
from .command import PATHS
from .import_roots import LEFT
from .prepare import Preparation, existing_folder, import_roots
from .worktree import Repository, worktree


@dataclass(frozen=True)
class Commit(VariantPart):
    """A commit of the caller's repository, whose code replaces that tree, or of another repository.

    No hook runs; index, branches and stash do not change. If a run is killed, the next run removes its
    worktree, in any repository. Submodules are checked out from what is on this machine. Without a
    command that builds, nothing is built.
    """

    kind: ClassVar[str] = "git"
    form: ClassVar[str] = "REF or git:DIR@REF"

    ref: str
    """Any name of a commit."""
    folder: str | None = None
    """A folder of another repository, absolute or relative to the caller's. None: the caller's repository."""
    is_working_tree: bool = False
    """Whether what differs from the commit in the working tree belongs to it."""

    def __str__(self) -> str:
        """Return it as it is typed."""
        return f"git:{self.ref}" if self.folder is None else f"git:{self.folder}@{self.ref}"

    @property
    def replaces(self) -> PurePath:
        """Its folder, or the caller's."""
        return PurePath(self.folder or "")

    @classmethod
    def read(cls, value: str) -> Self:
        """Read what follows `git:`; a path begins with a dot, a slash or `~`."""
        if not value.startswith(PATHS):
            if value.startswith("-"):
                raise UsageError(
                    f"{'git:' + value!r} looks like an option of git: give a branch, a tag or a commit"
                )
            return cls(value)
        # The last `@` separates them; `@{` does not: it is part of a name such as main@{1}.
        match = re.fullmatch(r"(.+)@(?!\{)(.+)", value, re.DOTALL)
        if not match:
            raise UsageError(f"{'git:' + value!r} names a folder but no commit: add @REF, or give path:DIR")
        return cls(match[2], match[1])

    def check(self, root: Path) -> None:
        """Check that the commit exists."""
        self._repository(self._folder(root)).commit(self.ref)

    @classmethod
    def prepare(cls, parts: Sequence[Self], preparation: Preparation) -> None:
        """Check out the commits; other repositories' packages come after those of the caller's tree."""
        for part in sorted(parts, key=lambda part: part.folder is not None):
            part._check_out(preparation)  # noqa: SLF001

    def _check_out(self, preparation: Preparation) -> None:
        side, root = preparation.side, preparation.root
        home = self._folder(root)
        repository = self._repository(home)
        commit = repository.commit(self.ref)
        name = commit[:10] if self.ref == commit else f"{one_line(str(self))[4:]} ({commit[:10]})"
        roots: tuple[Path, ...] = ()
        with writing(preparation.cache):
            if preparation.build:
                source = Source(repository, commit, f"git:{name}")
                if self.is_working_tree:
                    source = replace(source, name="the working tree", changed=git.changes(repository.top))
                build = built(source, preparation.build, preparation.cache, preparation.listener)
                tree, roots = preparation.stack.enter_context(build)
            else:
                preparation.listener.step(f"checking out {name}")
                checkout = worktree(repository, commit, preparation.cache, preparation.listener)
                tree = preparation.stack.enter_context(checkout)
        place = places.of_commit(home, commit, tree, is_built=bool(preparation.build))
        side.places += (place,)
        if not preparation.build and (problem := places.note(home, place)):
            preparation.listener.say(f"{one_line(str(self))} {problem}")
        folder = tree / repository.prefix
        if not folder.is_dir():
            raise UsageError(
                f"{one_line(str(self))} has no folder {repository.prefix}: "
                "start in, or give, a folder that it has"
            )
        trees = import_roots(folder)
        if self.folder is None:
            side.has_code, side.commit = True, commit
            side.dirty = self.is_working_tree and git.state(home)[1]
            trees = _with_callers_folder(home, root, trees)
        else:
            side.checkouts[self.folder] = commit
        side.trees += (*trees, *roots)

    def _folder(self, root: Path) -> Path:
        if self.folder is None:
            return project(root)
        return existing_folder(self.folder, root, f"the folder of {one_line(str(self))}")

    def _repository(self, folder: Path) -> Repository:
        return Repository.at(folder, one_line(str(self)))


def _with_callers_folder(home: Path, root: Path, trees: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the import roots of a commit, those of the caller's folder in its project included.

    A package, and a folder of tests or benchmarks, is no import root.
    """
    below = root.relative_to(home)
    if not LEFT.isdisjoint(below.parts) or (root / "__init__.py").exists():
        return trees
    return tuple(dict.fromkeys((*trees, *import_roots(trees[-1] / below))))
