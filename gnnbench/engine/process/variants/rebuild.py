"""Makes a variant that runs the code of a saved run again, and lists how that code differs from today's."""

import shlex
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from ...ground import units
from ...ground.environment import LIBRARIES
from ...ground.errors import UsageError
from ...measure.sources import CALLERS_TREE, LOCAL, Package, Sources, Tree, installed
from .pip import BROUGHT

_MOST_DIFFERENCES = 6
_SHORT_COMMIT = 7
_WHAT = "the saved code cannot be rebuilt"


def variant(saved: Sources, current: Sources, *, is_built: bool = False) -> str:
    """Return the variant that runs the saved code, as text for `variant.parse`; `.` if it is today's code.

    Paths are relative to pytest's rootdir. `is_built`: whether there is a command that builds commits. Raises
    a UsageError if the code cannot be built again, for example if its folder was not in git.
    """
    if saved.python != current.python:
        raise UsageError(f"{_WHAT}: it ran on Python {saved.python}, and this is Python {current.python}")
    return shlex.join([*_trees(saved, current, is_built), *_packages(saved, current)]) or CALLERS_TREE


def differences(saved: Sources, current: Sources) -> list[str]:
    """Return up to six differences, such as `torch_geometric 2.7.0 → 2.8.1`, and the number of further ones.

    Libraries of `environment.LIBRARIES` come first, then folders of code, Python and other packages.
    """
    saved_states, current_states = _states(saved), _states(current)
    libraries = [name for name in LIBRARIES if name in {*saved.packages, *current.packages}]
    others = sorted(saved.packages.keys() - {*libraries})
    lines = []
    for name in [*libraries, *(tree.name for tree in saved.trees), "Python", *others]:
        if name in saved.packages and name not in current_states and (package := installed(name)):
            current_states[name] = _version_text(package)  # a package that today's run did not import
        if (before := saved_states.get(name, "none")) != (after := current_states.get(name, "none")):
            lines.append(f"{name} {before} → {after}")
    excess = len(lines) - _MOST_DIFFERENCES
    return lines if excess < 2 else [*lines[:_MOST_DIFFERENCES], f"and {excess} others"]  # noqa: PLR2004


def _states(sources: Sources) -> dict[str, str]:
    """Return the commit of each folder, and the version of each package and of Python, by name."""
    folders = {name: tree.name for tree in sources.trees for name in tree.packages}
    trees = {
        tree.name: _short(tree)
        + (f" and {units.count(tree.changed_files, 'changed file')}" if tree.dirty else "")
        for tree in sources.trees
    }
    packages = {name: _version_text(package) for name, package in sources.packages.items()}
    return {**folders, **trees, "Python": sources.python, **packages}


def _version_text(package: Package) -> str:
    return f"{package.version} from {package.origin}" if package.origin else package.version


def _trees(saved: Sources, current: Sources, is_built: bool) -> Iterator[str]:
    """Yield the parts of the variant for folders whose code differs from today's."""
    trees_by_path = {tree.path: tree for tree in current.trees}
    for tree in filter(lambda tree: tree.packages, saved.trees):
        current_tree = trees_by_path.get(tree.path)
        if current_tree and tree.commit and current_tree.commit == tree.commit and not current_tree.dirty:
            continue
        if tree.commit is None:
            raise UsageError(f"{_WHAT}: {tree.name} was not in git, so its commit is unknown")
        if tree.compiled and not is_built:
            raise UsageError(
                f"{_WHAT}: {tree.name} changed since {_short(tree)}, and has compiled parts: give --gnn-build"
            )
        folder = tree.path if tree.path.startswith((".", "/")) else f"./{tree.path}"
        yield f"git:{tree.commit}" if tree.path == CALLERS_TREE else f"git:{folder}@{tree.commit}"


def _packages(saved: Sources, current: Sources) -> Iterator[str]:
    """Yield the parts of the variant for installed packages that differ from today's."""
    saved_torch, torch = saved.packages.get("torch"), _today("torch", current)
    torch_differs = saved_torch is not None and (torch is None or torch.version != saved_torch.version)
    for name, package in saved.packages.items():
        if package == _today(name, current) or (name == "torch" and not torch_differs):
            continue
        if torch_differs and canonicalize_name(name).startswith(BROUGHT):
            continue
        if package.origin is None:
            yield f"pip:{name}=={package.version}"
        elif package.origin.startswith(LOCAL):
            raise UsageError(f"{_WHAT}: {name} {package.version} was installed from a local file or folder")
        else:
            yield f"pip:{name} @ {package.origin}"


def _today(name: str, current: Sources) -> Package | None:
    """Return a package as it is installed today, even if today's run did not import it."""
    in_tree = any(name in tree.packages for tree in current.trees)
    return current.packages.get(name) or (None if in_tree else installed(name))


def _short(tree: Tree) -> str:
    return tree.commit[:_SHORT_COMMIT] if tree.commit else "no commit"
