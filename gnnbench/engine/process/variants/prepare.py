"""Prepares a variant: import roots and environment variables, removed again after use."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ...ground.errors import UsageError, one_line
from ...ground.files import CACHE_VARIABLE, cache_folder, project, real_path
from ...ground.git import state, tracked
from . import places
from .builds import Build, built
from .command import Listener, UnbuildableError
from .import_roots import HIDDEN, LEFT, Place
from .overlay import local_path, overlay, used, versions
from .torch_release import is_torch, not_usable, other_builds
from .variant import Variant
from .worktree import Repository, worktree


@dataclass(frozen=True)
class Prepared:
    """A variant that is ready for a process to start with."""

    text: str
    """As the user typed it."""
    trees: tuple[Path, ...]
    """Import roots that replace installed packages; the first that has a package wins."""
    environment: Mapping[str, str]
    commit: str | None
    """Commit of the code; None if the code is not in git."""
    dirty: bool
    """Whether tracked files differ from the commit."""
    versions: Mapping[str, str]
    """Names and versions of the packages that pip installed for it."""
    checkouts: Mapping[str, str] = field(default_factory=dict)
    """Folders of other repositories, as the user typed them, and their commits."""
    has_code: bool = False
    """Whether it names code in place of the caller's tree."""
    places: tuple[Place, ...] = ()
    """Folders of the caller whose files this side has elsewhere."""


def check(variant: Variant, root: Path) -> None:
    """Check that the commits and folders of a variant exist; nothing is checked out or installed."""
    if variant.git is not None:
        Repository.at(root, f"git:{variant.git}").commit(variant.git)
    if variant.path is not None:
        _folder(variant.path, root, f"path:{variant.path}")
    for text, ref in variant.checkouts:
        part = f"git:{text}@{ref}"
        Repository.at(_folder(text, root, f"the folder of {part}"), part).commit(ref)


@contextmanager
def prepared(
    variant: Variant,
    root: Path,
    listener: Listener,
    *,
    cache: Path,
    dependencies: bool = False,
    apart: bool = False,
    build: Build | None = None,
    hidden: Sequence[str] = (),
) -> Iterator[Prepared]:
    """Prepare a variant's code and settings, and clean up when the context ends.

    - `git:REF` is checked out into a new worktree, which is removed at the end. If a run is killed, the next
      run removes its worktree, in any repository. No hook runs; index, branches and stash do not change.
      Submodules are checked out from what is on this machine. Without `build`, nothing is built: for a
      package with compiled parts, use `pip:`, or `path:` to a folder where it is built.
    - `git:DIR@REF` is the same for the repository that contains DIR, which is relative to `root`.
    - `path:DIR` is used in place, relative to `root`.
    - For all three, what lies in the caller's tree, and is tracked by git, comes from the same place of the
      other folder, see `import_roots.Trees`. The import roots are that folder's `src`, if it exists, and the
      folder itself. In a commit, it is the folder that the project of `root`, or DIR, is in the repository;
      after it comes `root` itself, unless it is a package or a folder of tests or benchmarks. Those of
      `git:DIR@REF` come after those of the other two, and before what pip installs.
    - `pip:REQUIREMENT` is installed into an overlay by this environment's pip. The overlay is kept forever if
      the requirement is pinned to a release or is an unchanged local file; otherwise until the end of the day
      (UTC), and the versions found are reported. A local folder is built from a copy. Torch gets an overlay
      of its own, with what it needs.

    Args:
        apart: whether each requirement gets an overlay of its own, which other variants may share.
        hidden: installed packages that cannot be imported, see `not_usable`.
    """
    root, cache = root.resolve(), real_path(cache)
    with ExitStack() as stack:
        own_places: list[Place] = []

        def check_out(folder: Path, ref: str, part: str) -> tuple[str, tuple[Path, ...]]:
            repository = Repository.at(folder, part)
            commit = repository.commit(ref)
            name = part.removeprefix("git:")
            listener.step(
                f"checking out {commit[:10]}" if ref == commit else f"checking out {name} ({commit[:10]})"
            )
            with _writes(cache):
                tree = stack.enter_context(
                    worktree(repository, commit, cache, listener)
                    if build is None
                    else built(repository, commit, build, cache, listener)
                )
            own_places.append(places.of_commit(folder, commit, tree, is_built=build is not None))
            folder = tree / repository.prefix
            if not folder.is_dir():
                raise UnbuildableError(
                    f"{part} has no folder {repository.prefix}: start in, or give, a folder that it has"
                )
            return commit, import_roots(folder)

        commit, dirty = None, False
        if variant.git is not None:
            home = project(root)
            commit, trees = check_out(home, variant.git, one_line(f"git:{variant.git}"))
            trees = _own_roots(home, root, trees)
        elif variant.path is not None:
            folder = _folder(variant.path, root, one_line(f"path:{variant.path}"))
            trees = import_roots(folder)
            own_places.append(places.of_folder(real_path(project(root)), real_path(folder)))
            if tracked(folder):
                commit, dirty = state(folder)
        else:
            trees = ()
            commit, dirty = state(root)
        checkouts = {}
        for text, ref in variant.checkouts:
            part = one_line(f"git:{text}@{ref}")
            checkouts[text], roots = check_out(_folder(text, root, f"the folder of {part}"), ref, part)
            trees += roots
        installed: dict[str, str] = {}
        alone = [one for one in variant.pip if apart or is_torch(one)]
        together = tuple(one for one in variant.pip if one not in alone)
        for requirements in (*((one,) for one in alone), together):
            if requirements:
                with _writes(cache):
                    beside = overlay(requirements, root, cache, listener, dependencies=dependencies)
                    stack.enter_context(used(beside))
                trees += (beside,)
                installed |= versions(beside)
        has_code = variant.git is not None or variant.path is not None
        variables = {**dict(variant.env), **({HIDDEN: " ".join(hidden)} if hidden else {})}
        yield Prepared(
            variant.text,
            trees,
            variables,
            commit,
            dirty,
            installed,
            checkouts,
            has_code,
            places.first_of_each(own_places),
        )


@contextmanager
def both(
    base: Variant, head: Variant, root: Path, listener: Listener, *, dependencies: bool = False
) -> Iterator[tuple[Prepared, Prepared]]:
    """Prepare two sides, see `prepared`; what can be kept is in gnnbench's cache folder."""
    cache, hidden = cache_folder(), not_usable((base, head))
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(
                prepared(one, root, listener, cache=cache, dependencies=dependencies, hidden=hidden)
            )
            for one in (base, head)
        )
        if note := other_builds(first.versions, second.versions):
            listener.say(note)
        yield first, second


@contextmanager
def _writes(cache: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"the cache folder {cache} cannot be written ({error.strerror or error}); "
            f"set {CACHE_VARIABLE} to another folder"
        ) from None


def _own_roots(home: Path, root: Path, trees: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the import roots of a commit, those of the caller's folder in its project included."""
    below = root.relative_to(home)
    if not LEFT.isdisjoint(below.parts) or (root / "__init__.py").exists():
        return trees
    return tuple(dict.fromkeys((*trees, *import_roots(trees[-1] / below))))


def import_roots(folder: Path) -> tuple[Path, ...]:
    """Return the folders of a project from which packages are imported."""
    source = folder / "src"
    return (source, folder) if source.is_dir() else (folder,)


def _folder(text: str, root: Path, name: str) -> Path:
    folder = local_path(text, root)
    if not folder.is_dir():
        kind = "is not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"{name} {kind} (from {root}): give the folder that holds the package")
    return folder
