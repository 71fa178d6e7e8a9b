"""Prepares variants: checks out, builds and installs the code that processes then import."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from ...ground import git
from ...ground.errors import UsageError, one_line
from ...ground.files import cache_folder, project, real_path, writing
from ...interfaces import Listener
from . import redirects
from .builds import Source, built
from .import_roots import HIDDEN, TEST_NAMES
from .pip import not_usable, other_builds, overlay, versions
from .redirects import import_roots
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
    """Yield a variant that processes can import, and remove its checkouts when the context ends.

    A commit or folder replaces the project that contains `root`, the working directory, see
    `import_roots.Trees`. Packages are looked for in its folder `src` (if there is one), then in the commit or
    folder itself, then in other repositories, and last among the packages that pip installs.

    `dependencies`: whether pip also installs what requirements depend on. `is_built`: whether `build` also
    builds the working tree. `hidden`: installed packages that cannot be imported, see `not_usable`.
    """
    root, cache = root.resolve(), real_path(cache)
    side = Prepared(variant.text, environment={part.name: part.value for part in variant.of(Variable)})
    with ExitStack() as stack:
        for part in variant.of(Folder):
            _add_folder(part, side, root)
            if build:
                listener.say(f"{one_line(f'path:{part.path}')} is used as it is: --build builds commits only")
        commits = sorted(variant.of(Commit), key=lambda commit: commit.folder is not None)
        is_working_tree = is_built and not side.has_code and all(each.folder for each in commits)
        for commit in [*([Commit("HEAD")] if is_working_tree else []), *commits]:
            is_changed = is_working_tree and not commit.folder
            stack.enter_context(_add_commit(commit, side, root, listener, cache, build, is_changed))
        for text in variant.requirements:
            with writing(cache):
                installation = overlay(text, root, listener, cache, dependencies=dependencies)
                folder = stack.enter_context(installation)
            side.trees += (folder,)
            side.versions = versions(folder) | side.versions
        if not side.has_code:
            side.commit, side.dirty = git.state(root)
        # If several redirects have one source, the first one counts.
        by_source = {redirect.source: redirect for redirect in reversed(side.redirects)}
        side.redirects = tuple(reversed(by_source.values()))
        if hidden:
            side.environment = {**side.environment, HIDDEN: " ".join(hidden)}
        yield side


def _add_folder(part: Folder, side: Prepared, root: Path) -> None:
    """Add the folder of `path:DIR` to a prepared variant, without a build."""
    folder = part.existing(root)
    side.trees += import_roots(folder)
    side.redirects += (redirects.of_folder(project(root), real_path(folder)),)
    side.has_code = True
    side.commit, side.dirty = git.state(folder) if git.tracked(folder) else (None, False)


@contextmanager
def _add_commit(
    part: Commit, side: Prepared, root: Path, listener: Listener, cache: Path, build: str, is_changed: bool
) -> Iterator[None]:
    """Add a commit to a side until the context ends. `is_changed`: whether to build the working tree."""
    repository = part.repository(root)
    home, commit = repository.root, repository.commit(part.ref)
    text = repository.part
    name = commit[:10] if commit.startswith(part.ref) else f"{text.removeprefix('git:')} ({commit[:10]})"
    roots: tuple[Path, ...] = ()
    with ExitStack() as stack:
        with writing(cache):
            if build:
                title, changed = f"git:{name}", frozenset[str]()
                if is_changed:
                    title, changed = "the working tree", git.changes(repository.top)
                source = Source(repository, commit, title, changed, side.environment)
                tree, roots = stack.enter_context(built(source, build, cache, listener))
            else:
                listener.step(f"checking out {name}")
                tree = stack.enter_context(worktree(repository, commit, cache, listener))
        redirect = redirects.of_commit(home, commit, tree, is_built=bool(build))
        side.redirects += (redirect,)
        if not build and (problem := redirects.note(home, redirect)):
            listener.say(f"{text} {problem}")
        folder = tree / repository.prefix
        if not folder.is_dir():
            raise UsageError(
                f"{text} has no folder {repository.prefix}: run gnnbench in a folder that the commit has"
            )
        trees = import_roots(folder)
        if part.folder is None:
            side.has_code, side.commit = True, commit
            side.dirty = is_changed and git.state(home)[1]
            subfolder = root.relative_to(home)
            # Code is imported neither from a folder inside a package nor from a folder of tests.
            is_code = TEST_NAMES.isdisjoint(subfolder.parts) and not (root / "__init__.py").exists()
            if is_code and (folder / subfolder).is_dir():
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
    """Yield both sides, see `prepared`. Builds and installations remain in gnnbench's cache afterwards."""
    is_built = bool(build) and any(part.folder is None for side in (base, head) for part in side.of(Commit))
    prepare = partial(prepared, root=root, listener=listener, cache=cache_folder(), dependencies=dependencies)
    hidden = not_usable([base.requirements, head.requirements])
    prepare = partial(prepare, build=build, is_built=is_built, hidden=hidden)
    with prepare(base) as base_side, prepare(head) as head_side:
        if note := other_builds(base_side.versions, head_side.versions):
            listener.say(note)
        yield base_side, head_side
