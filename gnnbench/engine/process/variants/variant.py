"""One side of a comparison as the user types it, such as `git:main env:OMP_NUM_THREADS=1`."""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TypeVar

from packaging.requirements import Requirement as PipRequirement
from packaging.version import Version

from ...ground.errors import UsageError, one_line, unknown_name
from ...ground.files import project, user_path
from .import_roots import Redirect
from .worktree import Repository

WORKING_TREE = "."
_PATHS = (".", "/", "~")
"""Beginnings of paths; no name of a commit and no requirement begins with one of them."""
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tar.bz2", ".tgz")
_FORM = "give git:REF, git:DIR@REF, path:DIR, pip:REQUIREMENT, env:NAME=VALUE or . (the working tree)"


@dataclass(frozen=True)
class Folder:
    """`path:DIR`: a folder whose code replaces that of the project in which gnnbench runs."""

    path: str
    """As the user typed it: absolute, or relative to the working directory."""

    def existing(self, root: Path) -> Path:
        """Return the absolute path of the folder, or raise a UsageError if there is none."""
        return _existing(self.path, root, one_line(f"path:{self.path}"))


@dataclass(frozen=True)
class Commit:
    """`git:REF` or `git:DIR@REF`: a commit of this project's repository, or of the one that contains DIR.

    No git hook runs, and the repository does not change. Submodules come from the repositories on this
    machine. Nothing is built without a build command.
    """

    ref: str
    """Any name of a commit."""
    folder: str | None = None
    """DIR, absolute or relative to the working directory. None for this project's repository."""

    def __str__(self) -> str:
        return f"git:{self.ref}" if self.folder is None else f"git:{self.folder}@{self.ref}"

    def repository(self, root: Path) -> Repository:
        """Return the repository that contains the folder or, without a folder, the project."""
        name = one_line(str(self))
        if self.folder is None:
            return Repository.at(project(root), name)
        return Repository.at(_existing(self.folder, root, f"the folder of {name}"), name)


@dataclass(frozen=True)
class Requirement:
    """`pip:REQUIREMENT`: what the pip of this Python environment installs."""

    text: str
    """A requirement, or the path of an archive such as a wheel."""


@dataclass(frozen=True)
class Variable:
    """`env:NAME=VALUE`: an environment variable to set; the last value of a name counts."""

    name: str
    value: str


Part = Folder | Commit | Requirement | Variable
_Part = TypeVar("_Part", bound=Part)


@dataclass(frozen=True)
class Variant:
    """The code and settings of one side. If no part names code, the code is that of the working tree."""

    text: str
    """As the user typed it."""
    parts: tuple[Part, ...] = ()

    def of(self, kind: type[_Part]) -> list[_Part]:
        """Return the parts of one kind."""
        return [part for part in self.parts if isinstance(part, kind)]

    @property
    def requirements(self) -> list[str]:
        return [part.text for part in self.of(Requirement)]

    def check(self, root: Path) -> None:
        """Raise a UsageError if a commit or folder does not exist; check out and install nothing."""
        for folder in self.of(Folder):
            folder.existing(root)
        for commit in self.of(Commit):
            commit.repository(root).commit(commit.ref)


@dataclass
class Prepared:
    """A variant whose code is checked out, built and installed, so that processes can import it."""

    text: str
    """As the user typed it."""
    trees: tuple[Path, ...] = ()
    """Folders of packages that replace installed ones; the first folder that has a package wins."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables to set."""
    commit: str | None = None
    """Full hash of the commit of the code. None if the code is not in git."""
    dirty: bool = False
    """Whether files that git tracks differ from the commit."""
    versions: dict[str, str] = field(default_factory=dict)
    """Versions of the packages that pip installed for the variant, by name."""
    checkouts: dict[str, str] = field(default_factory=dict)
    """Commits of other repositories, by folder as the user typed it."""
    has_code: bool = False
    """Whether the variant names code that replaces the project's."""
    redirects: tuple[Redirect, ...] = ()
    """Where the variant has the files of the project, and of other repositories on this machine."""


def parse(text: str) -> Variant:
    """Return the variant of a text, whose parts are separated by spaces and quoted as in a shell."""
    typed = words(text)
    if not typed:
        raise UsageError(f"variant {text!r} is empty: {_FORM}")
    parts: list[Part] = []
    sources: dict[PurePath, str] = {}
    for word in typed:
        part = None if word == WORKING_TREE else _part(word)
        parts += [part] if part else []
        if isinstance(part, Requirement | Variable):
            continue
        folder = PurePath((part.folder or "") if isinstance(part, Commit) else "")
        if folder in sources:
            raise UsageError(
                f"variant {text!r} has two sources of code for one folder, "
                f"{sources[folder]!r} and {word!r}: give one"
            )
        sources[folder] = word
    return Variant(text, tuple(parts))


def words(text: str) -> list[str]:
    """Return the parts of a variant's text."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"variant {text!r} is incomplete: {str(error).lower()}") from None


def _part(word: str) -> Part:
    """Return one part of a variant, or raise a UsageError that suggests another."""
    kind, colon, value = word.partition(":")
    if not colon:
        guess = "pip" if re.search(r"[=<>~!]=|[<>]", word) else "env" if "=" in word else "git"
        hint = f" or {f'path:{word}'!r}" if guess == "git" else ""
        raise UsageError(f"{word!r} is not part of a variant: did you mean {f'{guess}:{word}'!r}{hint}?")
    if kind not in _KINDS:
        # Escaped, so that the message stays on one line.
        raise unknown_name("part of a variant", ascii(kind)[1:-1], _KINDS)
    value = value.strip() if kind != "env" else value
    if not value:
        raise UsageError(f"{word!r} has no value: {_FORM}")
    return _KINDS[kind](value)


def _commit(value: str) -> Commit:
    """Return the commit of `REF` or `DIR@REF`; DIR begins with a dot, a slash or `~`."""
    if not value.startswith(_PATHS):
        return Commit(value)
    # The last `@` ends the folder, except for `@{`, which is part of a name such as main@{1}.
    match = re.fullmatch(r"(.+)@(?!\{)(.+)", value, re.DOTALL)
    if not match:
        raise UsageError(f"{'git:' + value!r} names a folder but no commit: add @REF, or give path:DIR")
    return Commit(match[2], match[1])


def _requirement(value: str) -> Requirement:
    """Return a requirement, or raise a UsageError if `value` is something else, such as an option of pip."""
    if is_local(value):
        return Requirement(value)
    try:
        url = PipRequirement(value).url
    except (ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(
            f"{'pip:' + value!r} is not a requirement ({reason}): give pip:NAME==VERSION or ./x.whl"
        ) from None
    if url and url.lower().startswith("file:"):
        # A changed file is noticed only if the requirement is its path.
        raise UsageError(f"{'pip:' + value!r} is a local file: give its path, like pip:./x.whl")
    return Requirement(value)


def _variable(value: str) -> Variable:
    """Return the variable of `NAME=VALUE`, whose value may be empty."""
    name, equals, content = value.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UsageError(f"{'env:' + value!r} is not a variable name and a value: give env:NAME=VALUE")
    return Variable(name, content)


_KINDS: Mapping[str, Callable[[str], Part]] = {
    "path": Folder,
    "git": _commit,
    "pip": _requirement,
    "env": _variable,
}


def _existing(text: str, root: Path, name: str) -> Path:
    """Return the absolute path of a folder that the user typed; `name` is its name in error messages."""
    folder = local_path(text, root)
    if not folder.is_dir():
        kind = "is not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"{name} {kind} (relative to {root}): give the folder that holds the package")
    return folder


def local_path(text: str, root: Path) -> Path:
    """Return the absolute form of a path that the user typed in the folder `root`."""
    return (root / user_path(text)).resolve()


def is_local(requirement: str) -> bool:
    """Whether a requirement for pip is the path of a file or folder."""
    return "://" not in requirement and (
        requirement.startswith(_PATHS) or requirement.lower().endswith(_ARCHIVES)
    )


def pinned(text: str) -> tuple[str, str]:
    """Return the name and the version of a requirement `NAME==VERSION`."""
    try:
        requirement = PipRequirement(text)
        (pin,) = requirement.specifier
        Version(pin.version)
        is_plain = not (requirement.url or requirement.extras or requirement.marker)
    except (ValueError, RecursionError):
        is_plain = False
    if not is_plain or pin.operator not in {"==", "==="}:
        raise UsageError(f"{'pip:' + text!r} is not one release: give pip:NAME==VERSION")
    return requirement.name, pin.version
