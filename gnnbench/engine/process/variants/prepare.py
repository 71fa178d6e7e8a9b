"""Prepares a variant: import roots and environment variables, removed again after use."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ...ground.files import cache_folder, real_path
from ...ground.git import state
from ...interfaces import Listener
from .commit import Commit
from .import_roots import HIDDEN, Place
from .preparation import Preparation
from .requirement import Requirement
from .torch_release import not_usable, other_builds
from .variant import KINDS, Variant


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


@contextmanager
def prepared(
    variant: Variant,
    root: Path,
    listener: Listener,
    *,
    cache: Path,
    dependencies: bool = False,
    apart: bool = False,
    build: str = "",
    is_built: bool = False,
    hidden: Sequence[str] = (),
) -> Iterator[Prepared]:
    """Prepare a variant's code and settings, and clean up when the context ends.

    What lies in the caller's tree, and is tracked by git, comes from the same place of a commit or folder,
    see `import_roots.Trees`. The import roots are that folder's `src`, if it exists, and the folder itself.
    In a commit, it is the folder that the project of `root`, or DIR, is in the repository; after it comes
    `root` itself. What pip installs comes last.

    `is_built`: whether the caller's tree is built, too, if the variant has it. `hidden`: installed packages
    that cannot be imported, see `not_usable`.
    """
    root, cache = root.resolve(), real_path(cache)
    with ExitStack() as stack:
        preparation = Preparation(root, listener, cache, dependencies, apart, build, stack)
        for kind in KINDS.values():
            kind.prepare(variant.of(kind), preparation)
        if is_built and preparation.state is None:
            Commit.prepare_working_tree(preparation)
        commit, dirty = preparation.state or state(root)
        places = {place.source: place for place in reversed(preparation.places)}  # the first of each folder
        yield Prepared(
            variant.text,
            tuple(preparation.trees),
            {**preparation.environment, **({HIDDEN: " ".join(hidden)} if hidden else {})},
            commit,
            dirty,
            preparation.versions,
            preparation.checkouts,
            preparation.state is not None,
            tuple(reversed(places.values())),
        )


@contextmanager
def both(
    base: Variant,
    head: Variant,
    root: Path,
    listener: Listener,
    *,
    dependencies: bool = False,
    build: str = "",
) -> Iterator[tuple[Prepared, Prepared]]:
    """Prepare two sides, see `prepared`; what can be kept is in gnnbench's cache folder."""
    requirements = [[part.text for part in side.of(Requirement)] for side in (base, head)]
    cache, hidden = cache_folder(), not_usable(requirements)
    is_built = any(part.folder is None for side in (base, head) for part in side.of(Commit))
    prepare = partial(prepared, dependencies=dependencies, build=build, is_built=is_built and bool(build))
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(prepare(side, root, listener, cache=cache, hidden=hidden))
            for side in (base, head)
        )
        if note := other_builds(first.versions, second.versions):
            listener.say(note)
        yield first, second
