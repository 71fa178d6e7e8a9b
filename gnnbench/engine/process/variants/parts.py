"""The parts of a variant: folders, commits, requirements for pip, environment variables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import ClassVar, Self

from packaging.requirements import Requirement as PipRequirement

from ...ground import git
from ...ground.errors import UsageError, one_line
from ...ground.files import project, real_path, writing
from ...interfaces import VariantPart
from . import places
from .builds import Source, built
from .command import PATHS, is_local
from .import_roots import LEFT
from .overlay import overlay, versions
from .prepare import Preparation, existing_folder, import_roots
from .torch_release import is_torch
from .worktree import Repository, worktree


@dataclass(frozen=True)
class Folder(VariantPart):
    """`path:DIR`: a folder, absolute or relative to the caller's, used in place of the caller's tree."""

    kind: ClassVar[str] = "path"
    form: ClassVar[str] = "DIR"

    path: str

    def __str__(self) -> str:
        return f"path:{self.path}"

    @property
    def replaces(self) -> PurePath:
        """The caller's folder."""
        return PurePath()

    @classmethod
    def read(cls, value: str) -> Self:
        """Take any text."""
        return cls(value)

    def check(self, root: Path) -> None:
        """Check that the folder exists."""
        existing_folder(self.path, root, one_line(str(self)))

    @classmethod
    def prepare(cls, parts: Sequence[Self], preparation: Preparation) -> None:
        """Add its import roots."""
        for part in parts:
            side, home = preparation.side, project(preparation.root)
            folder = existing_folder(part.path, preparation.root, one_line(str(part)))
            side.trees += import_roots(folder)
            if preparation.build:
                preparation.listener.say(f"{one_line(str(part))} is used as it is: --build builds commits")
            side.places += (places.of_folder(home, real_path(folder)),)
            side.has_code = True
            side.commit, side.dirty = git.state(folder) if git.tracked(folder) else (None, False)


@dataclass(frozen=True)
class Commit(VariantPart):
    """`git:REF` or `git:DIR@REF`: a commit of the caller's repository, or of another one.

    Its code replaces the tree. No hook runs, and the repository does not change. Submodules are checked out
    from what is on this machine. Without a command that builds, nothing is built.
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
        name = commit[:10] if commit.startswith(self.ref) else f"{one_line(str(self))[4:]} ({commit[:10]})"
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


@dataclass(frozen=True)
class Requirement(VariantPart):
    """`pip:REQUIREMENT`: a requirement, an archive or a folder, installed by this environment's pip.

    The overlay is kept if the requirement is pinned to a release or is an unchanged local file; otherwise
    until the end of the day (UTC), and the versions found are reported. A local folder is built from a copy.
    Torch gets an overlay of its own, with what it needs.
    """

    kind: ClassVar[str] = "pip"
    form: ClassVar[str] = "REQUIREMENT"

    text: str

    @classmethod
    def read(cls, value: str) -> Self:
        """Check that it is a requirement, and that pip reads no option."""
        if value.startswith("-"):
            raise UsageError(
                f"{'pip:' + value!r} looks like an option of pip: give a requirement; set options in PIP_..."
            )
        if is_local(value):
            return cls(value)
        try:
            url = PipRequirement(value).url
        except (ValueError, RecursionError) as error:
            reason = str(error).partition("\n")[0]
            raise UsageError(
                f"{'pip:' + value!r} is not a requirement ({reason}): give pip:NAME==VERSION or ./x.whl"
            ) from None
        if url and url.lower().startswith("file:"):
            # Changes of a local file are noticed only if it is given as a path.
            raise UsageError(f"{'pip:' + value!r} is a local file: give its path, like pip:./x.whl")
        return cls(value)

    @classmethod
    def prepare(cls, parts: Sequence[Self], preparation: Preparation) -> None:
        """Install them together, but for torch, and add the overlays."""
        side, texts = preparation.side, [part.text for part in parts]
        alone = [text for text in texts if preparation.apart or is_torch(text)]
        together = tuple(text for text in texts if text not in alone)
        for requirements in filter(None, (*((text,) for text in alone), together)):
            with writing(preparation.cache):
                folder = preparation.stack.enter_context(overlay(requirements, preparation))
            side.trees += (folder,)
            side.versions |= versions(folder)


@dataclass(frozen=True)
class Variable(VariantPart):
    """`env:NAME=VALUE`: a variable to set; if a name occurs twice, the last value counts, as in a shell."""

    kind: ClassVar[str] = "env"
    form: ClassVar[str] = "NAME=VALUE"

    name: str
    value: str

    @classmethod
    def read(cls, value: str) -> Self:
        """Read a name and a value, which may be empty."""
        name, equals, content = value.partition("=")
        if not equals:
            raise UsageError(f"{'env:' + value!r} sets nothing: give env:NAME=VALUE")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise UsageError(
                f"{'env:' + value!r}: {name!r} is not a variable name: use letters, digits and _"
            )
        return cls(name, content)

    @classmethod
    def prepare(cls, parts: Sequence[Self], preparation: Preparation) -> None:
        """Set them."""
        preparation.side.environment = {part.name: part.value for part in parts}
