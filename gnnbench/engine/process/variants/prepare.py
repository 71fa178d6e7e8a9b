"""Prepares a variant: checks out, builds or installs the code that a process then imports."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...ground import git
from ...ground.errors import UsageError, one_line
from ...ground.files import cache_folder, project, real_path, writing
from ...interfaces import Listener
from . import places
from .builds import Source, built
from .import_roots import HIDDEN, LEFT
from .overlay import overlay, versions
from .places import import_roots
from .torch_release import not_usable, other_builds
from .variant import Commit, Folder, Prepared, Variable, Variant
from .worktree import worktree


@contextmanager
def prepared(
    variant: Variant,
    root: Path,
    listener: Listener,
    *,
    cache: Path,
    dependencies: bool = False,
    build: str = "",
    is_built: bool = False,
    hidden: Sequence[str] = (),
) -> Iterator[Prepared]:
    """Prepare a variant's code and settings, and clean up when the context ends.

    Files that git tracks in the caller's tree come from the same path in a commit or folder, see
    `import_roots.Trees`. The import roots are the folder's `src`, if it exists, and the folder itself. In a
    commit, the folder is that of DIR or of the project that contains `root`; then come the roots of `root`
    itself. Packages that pip installs come last.

    `dependencies`: whether pip installs the dependencies of requirements, too. `build`: the command that
    builds checkouts. `is_built`: whether the caller's tree is built, too, if the variant uses it. `hidden`:
    installed packages that cannot be imported, see `not_usable`.
    """
    root, cache = root.resolve(), real_path(cache)
    side = Prepared(variant.text, environment={part.name: part.value for part in variant.of(Variable)})
    with ExitStack() as stack:
        for part in variant.of(Folder):
            _use(part, side, root)
            if build:
                listener.say(f"{one_line(f'path:{part.path}')} is used as it is: --build only builds commits")
        commits = sorted(variant.of(Commit), key=lambda commit: commit.folder is not None)
        is_working_tree = is_built and not any((variant.of(Folder), *(not each.folder for each in commits)))
        for commit in [Commit("HEAD")] * is_working_tree + commits:
            is_changed = is_working_tree and not commit.folder
            stack.enter_context(_checked_out(commit, side, root, listener, cache, build, is_changed))
        for text in variant.requirements:
            with writing(cache):
                installation = overlay(text, root, listener, cache, dependencies=dependencies)
                folder = stack.enter_context(installation)
            side.trees += (folder,)
            side.versions = versions(folder) | side.versions
        if not side.has_code:
            side.commit, side.dirty = git.state(root)
        by_source = {place.source: place for place in reversed(side.places)}
        side.places = tuple(reversed(by_source.values()))
        if hidden:
            side.environment = {**side.environment, HIDDEN: " ".join(hidden)}
        yield side


def _use(part: Folder, side: Prepared, root: Path) -> None:
    """Add an existing folder."""
    folder = part.existing(root)
    side.trees += import_roots(folder)
    side.places += (places.of_folder(project(root), real_path(folder)),)
    side.has_code = True
    side.commit, side.dirty = git.state(folder) if git.tracked(folder) else (None, False)


@contextmanager
def _checked_out(
    part: Commit, side: Prepared, root: Path, listener: Listener, cache: Path, build: str, is_changed: bool
) -> Iterator[None]:
    """Add a commit's code while the context lasts; `is_changed`: with the working tree's changes."""
    repository = part.repository(root)
    home, commit = repository.root, repository.commit(part.ref)
    text = repository.part
    name = commit[:10] if commit.startswith(part.ref) else f"{text[4:]} ({commit[:10]})"
    roots: tuple[Path, ...] = ()
    with ExitStack() as stack:
        with writing(cache):
            if build:
                source = Source(repository, commit, f"git:{name}")
                if is_changed:
                    source = replace(source, name="the working tree", changed=git.changes(repository.top))
                tree, roots = stack.enter_context(built(source, build, cache, listener))
            else:
                listener.step(f"checking out {name}")
                tree = stack.enter_context(worktree(repository, commit, cache, listener))
        place = places.of_commit(home, commit, tree, is_built=bool(build))
        side.places += (place,)
        if not build and (problem := places.note(home, place)):
            listener.say(f"{text} {problem}")
        folder = tree / repository.prefix
        if not folder.is_dir():
            raise UsageError(
                f"{text} has no folder {repository.prefix}: start in a folder that the commit has"
            )
        trees = import_roots(folder)
        if part.folder is None:
            side.has_code, side.commit = True, commit
            side.dirty = is_changed and git.state(home)[1]
            subfolder = root.relative_to(home)
            # A package, and a folder of tests or benchmarks, is no import root.
            if LEFT.isdisjoint(subfolder.parts) and not (root / "__init__.py").exists():
                trees = tuple(dict.fromkeys((*trees, *import_roots(folder / subfolder))))
        else:
            side.checkouts[part.folder] = commit
        side.trees += (*trees, *roots)
        yield


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
    """Prepare both sides, see `prepared`; builds and installations stay in gnnbench's cache folder."""
    is_built = bool(build) and any(part.folder is None for side in (base, head) for part in side.of(Commit))
    prepare = partial(prepared, root=root, listener=listener, cache=cache_folder(), dependencies=dependencies)
    hidden = not_usable([base.requirements, head.requirements])
    prepare = partial(prepare, build=build, is_built=is_built, hidden=hidden)
    with prepare(base) as base_side, prepare(head) as head_side:
        if note := other_builds(base_side.versions, head_side.versions):
            listener.say(note)
        yield base_side, head_side
