"""What a variant's parts add while it is prepared, and what they share for that."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ...ground.errors import UsageError
from ...ground.files import CACHE_VARIABLE
from ...interfaces import Listener
from .import_roots import Place
from .overlay import local_path


@dataclass
class Preparation:
    """A variant that is being prepared."""

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
    trees: list[Path] = field(default_factory=list)
    """Import roots; the first that has a package wins."""
    environment: dict[str, str] = field(default_factory=dict)
    state: tuple[str | None, bool] | None = None
    """Commit of the code that replaces the caller's tree, and whether tracked files differ from it."""
    checkouts: dict[str, str] = field(default_factory=dict)
    """Folders of other repositories, as the user typed them, and their commits."""
    versions: dict[str, str] = field(default_factory=dict)
    """Names and versions of the packages that pip installed."""
    places: list[Place] = field(default_factory=list)
    """Folders of the caller whose files this side has elsewhere."""

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Say in one line that the cache folder cannot be written, if that fails within."""
        try:
            yield
        except OSError as error:
            raise UsageError(
                f"the cache folder {self.cache} cannot be written ({error.strerror or error}); "
                f"set {CACHE_VARIABLE} to another folder"
            ) from None


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
