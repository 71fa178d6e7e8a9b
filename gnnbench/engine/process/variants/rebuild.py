"""The variant that builds the code of a saved run again, and how that code differs from today's."""

import shlex
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from ...ground import units
from ...ground.environment import LIBRARIES
from ...ground.errors import UsageError
from ...measure.sources import CALLERS_TREE, LOCAL, Package, Sources, Tree, installed
from .torch_release import BROUGHT

_MOST_DIFFERENCES = 6
_SHORT_COMMIT = 7


class NotRebuiltError(UsageError):
    """The saved code cannot be built here; the message is one line that says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the saved code cannot be built again: {reason}")


def variant(saved: Sources, here: Sources) -> str:
    """Return the variant that builds the saved code beside today's, as text for `variant.parse`.

    Its paths are relative to the rootdir. It is `.` if today's code is the saved code. A tree without git is
    taken to be unchanged: see `without_git`.
    """
    if saved.python != here.python:
        raise NotRebuiltError(f"it ran on Python {saved.python}, and this is Python {here.python}")
    return shlex.join([*_trees(saved, here), *_packages(saved, here)]) or CALLERS_TREE


def without_git(saved: Sources) -> set[str]:
    """Return the top-level packages of trees without git: only fingerprints tell whether they changed."""
    return {name for tree in saved.trees if tree.commit is None for name in tree.packages}


def differences(saved: Sources, here: Sources) -> list[str]:
    """Return what differs, such as `torch_geometric 2.7.0 → 2.8.1`.

    environment.LIBRARIES come first, then trees, Python and other packages. Beyond six, a number stands for
    the other packages.
    """
    found = [text for name in LIBRARIES if (text := _package_difference(name, saved, here))]
    today = {tree.path: tree for tree in here.trees}
    found += [text for tree in saved.trees if (text := _tree_difference(tree, today.get(tree.path)))]
    if saved.python != here.python:
        found.append(f"Python {saved.python} → {here.python}")
    names = sorted(saved.packages.keys() - set(LIBRARIES))
    others = [text for name in names if (text := _package_difference(name, saved, here))]
    room = max(_MOST_DIFFERENCES - len(found), 0)
    if len(others) > room:
        others[room:] = [f"and {units.count(len(others) - room, 'other package')}"]
    return found + others


def _trees(saved: Sources, here: Sources) -> Iterator[str]:
    """Yield the variant's parts for trees."""
    today = {tree.path: tree for tree in here.trees}
    for tree in saved.trees:
        now = today.get(tree.path)
        unused = not tree.packages
        if unused or _is_unchanged(tree, now):
            continue
        if tree.commit is None:
            raise NotRebuiltError(f"{tree.name} was not in git, so its commit is unknown")
        if tree.compiled:
            raise NotRebuiltError(f"{tree.name} changed since {_short(tree)}, and has compiled parts")
        folder = tree.path if tree.path.startswith((".", "/")) else f"./{tree.path}"
        yield f"git:{tree.commit}" if tree.path == CALLERS_TREE else f"git:{folder}@{tree.commit}"


def _packages(saved: Sources, here: Sources) -> Iterator[str]:
    """Yield the variant's parts for installed distributions."""
    before, torch = saved.packages.get("torch"), _today("torch", here)
    with_torch = before is not None and (torch is None or torch.version != before.version)
    for name, package in saved.packages.items():
        if package == _today(name, here) or (name == "torch" and not with_torch):
            continue
        if with_torch and canonicalize_name(name).startswith(BROUGHT):
            continue
        if package.origin is None:
            yield f"pip:{name}=={package.version}"
        elif package.origin.startswith(LOCAL):
            raise NotRebuiltError(f"{name} {package.version} was installed from a local file or folder")
        else:
            yield f"pip:{name} @ {package.origin}"


def _is_unchanged(tree: Tree, now: Tree | None) -> bool:
    """Tell whether a tree is as it was; without git, the caller has seen that its functions are."""
    if now is None or tree.commit is None:
        return now is not None
    return now.commit == tree.commit and not now.dirty


def _today(name: str, here: Sources) -> Package | None:
    """Return a package of today, which may be installed although today's run did not import it."""
    return here.packages.get(name) or (None if _tree_of(name, here) else installed(name))


def _tree_of(name: str, sources: Sources) -> str | None:
    """Return the name of the tree that has a package."""
    return next((tree.name for tree in sources.trees if name in tree.packages), None)


def _tree_difference(tree: Tree, now: Tree | None) -> str:
    """Return how a tree differs today; an empty text if it does not."""
    if now is None:
        return f"{tree.name} {_short(tree)} → none"
    changed = units.count(now.changed_files, "changed file")
    if now.commit == tree.commit:
        return f"{changed} in {tree.name}" if now.dirty else ""
    return f"{tree.name} {_short(tree)} → {_short(now)}{f' and {changed}' if now.dirty else ''}"


def _package_difference(name: str, saved: Sources, here: Sources) -> str:
    """Return how an installed distribution differs today; an empty text if it does not."""
    before = saved.packages.get(name)
    now = _today(name, here) if before else here.packages.get(name)
    if before == now:
        return ""
    with_origin = before is not None and now is not None and before.version == now.version
    old, new = (_text(name, *side, with_origin=with_origin) for side in ((before, saved), (now, here)))
    return f"{name} {old} → {new}"


def _text(name: str, package: Package | None, sources: Sources, *, with_origin: bool) -> str:
    if package is None:
        return _tree_of(name, sources) or "none"
    return f"{package.version} from {package.origin or 'the index'}" if with_origin else package.version


def _short(tree: Tree) -> str:
    return tree.commit[:_SHORT_COMMIT] if tree.commit else "no commit"
