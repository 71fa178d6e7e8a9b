"""Variants made usable: trees to import from and variables to set, and nothing left behind."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError, one_line
from ..files import CACHE_VARIABLE
from .overlay import local_path, overlay, versions
from .variant import Variant
from .worktree import Repository, is_followed, state, worktree


@dataclass(frozen=True)
class Prepared:
    """A variant that a process can be started with."""

    text: str
    """As it was given."""
    trees: tuple[Path, ...]
    """Import roots whose packages replace the installed ones; the first that has a package wins."""
    environment: Mapping[str, str]
    """Variables to set."""
    commit: str | None
    """Of the code; None where git does not follow it."""
    dirty: bool
    """Whether files that git follows differ from the commit."""
    versions: Mapping[str, str]
    """Of what pip installed for it, by name."""


@contextmanager
def prepared(
    variant: Variant,
    root: Path,
    *,
    cache: Path,
    dependencies: bool = False,
    say: Callable[[str], None],
    step: Callable[[str], None] | None = None,
) -> Iterator[Prepared]:
    """Have a variant's code and settings at hand for as long as the context lasts.

    - `git:REF` is checked out into a worktree of its own, removed at the end; what a killed run left is
      removed by the next, of any repository. No hook runs, and index, branches and stash stay as they are.
      Submodules are not initialised and nothing is built: a package with compiled parts needs `pip:` or a
      `path:` where it is built.
    - `path:DIR` is used where it is, relative to `root`.
    - Of both, the import roots are the folder's `src`, where it has one, and the folder itself; of a commit
      the folder that `root` is in the repository.
    - `pip:REQUIREMENT` is installed by this environment's own pip into an overlay, which is kept: for good
      where it is pinned to a release or a local file that has not changed, otherwise for the day (UTC), and
      what it came to is said. A local folder is built from a copy.

    Args:
        variant: what is asked for.
        root: the caller's folder.
        cache: folder for worktrees and overlays.
        dependencies: install what the requirements require as well.
        say: is told what came of it, and what cannot be removed.
        step: is told of slow steps before they begin; None: `say` is.

    Raises:
        UsageError: it cannot be had, in one line.
    """
    root, cache, step = root.resolve(), cache.resolve(), step or say
    with ExitStack() as stack:
        commit, dirty = None, False
        if variant.git is not None:
            repository = Repository.at(root, one_line(f"git:{variant.git}"))
            commit = repository.commit(variant.git)
            step(f"checking out {one_line(variant.git)} ({commit[:10]})")
            with _writes(cache):
                tree = stack.enter_context(worktree(repository, commit, cache, say))
            folder = tree / repository.prefix
            if not folder.is_dir():
                raise UsageError(
                    f"{repository.part} has no folder {repository.prefix}: start from one it has"
                )
            trees = _import_roots(folder)
        elif variant.path is not None:
            folder = _folder(variant.path, root)
            trees = _import_roots(folder)
            if is_followed(folder):
                commit, dirty = state(folder)
        else:
            trees = ()
            commit, dirty = state(root)
        installed: dict[str, str] = {}
        if variant.pip:
            with _writes(cache):
                beside = overlay(variant.pip, root, cache, dependencies=dependencies, say=say, step=step)
            trees += (beside,)
            installed = versions(beside)
        yield Prepared(variant.text, trees, dict(variant.env), commit, dirty, installed)


@contextmanager
def _writes(cache: Path) -> Iterator[None]:
    """Say in one line what keeps files from being written to the cache."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"the cache folder {cache} cannot be written ({error.strerror or error}); "
            f"name another in the variable {CACHE_VARIABLE}"
        ) from None


def _import_roots(folder: Path) -> tuple[Path, ...]:
    source = folder / "src"
    return (source, folder) if source.is_dir() else (folder,)


def _folder(text: str, root: Path) -> Path:
    folder = local_path(text, root)
    if not folder.is_dir():
        kind = "is not a folder" if folder.exists() else "is not there"
        raise UsageError(
            f"{one_line('path:' + text)} {kind} (from {root}): give the folder that holds the package"
        )
    return folder
