"""A side that is being prepared by the parts of its variant, and what they share for that."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from ...ground.errors import UsageError
from ...ground.files import user_path
from ...interfaces import Listener
from .import_roots import Place


@dataclass
class Prepared:
    """A variant that is ready for a process to start with."""

    text: str
    """As the user typed it."""
    trees: tuple[Path, ...] = ()
    """Import roots that replace installed packages; the first that has a package wins."""
    environment: Mapping[str, str] = field(default_factory=dict)
    commit: str | None = None
    """Commit of the code; None if the code is not in git."""
    dirty: bool = False
    """Whether tracked files differ from the commit."""
    versions: dict[str, str] = field(default_factory=dict)
    """Names and versions of the packages that pip installed for it."""
    checkouts: dict[str, str] = field(default_factory=dict)
    """Folders of other repositories, as the user typed them, and their commits."""
    has_code: bool = False
    """Whether it names code in place of the caller's tree."""
    places: tuple[Place, ...] = ()
    """Folders of the caller whose files this side has elsewhere."""


@dataclass
class Preparation:
    """What the parts of a variant share while they prepare a side."""

    side: Prepared
    root: Path
    """The caller's folder."""
    listener: Listener
    cache: Path
    dependencies: bool
    """Whether pip installs the dependencies of requirements, too."""
    apart: bool
    """Whether each requirement gets an overlay of its own, which other variants may share."""
    build: str
    """The command that builds a checkout; empty: nothing does."""
    stack: ExitStack
    """Its end removes what was prepared."""


def local_path(text: str, root: Path) -> Path:
    """Return the absolute path of what a user typed in folder `root`."""
    return (root / user_path(text)).resolve()


def existing_folder(text: str, root: Path, name: str) -> Path:
    """Return the absolute path of a folder that a user typed; `name` is what an error calls it."""
    folder = local_path(text, root)
    if not folder.is_dir():
        kind = "is not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"{name} {kind} (from {root}): give the folder that holds the package")
    return folder


def import_roots(folder: Path) -> tuple[Path, ...]:
    """Return the folders of a project from which packages are imported."""
    source = folder / "src"
    return (source, folder) if source.is_dir() else (folder,)
