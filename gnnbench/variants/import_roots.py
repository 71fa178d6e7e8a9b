"""Imports a variant's packages instead of the installed ones and of those in the caller's tree."""

import importlib.metadata
import sys
from collections.abc import Collection, Iterable, Sequence
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

LEFT = frozenset({"conftest", "setup", "tests", "test", "benchmarks"})
"""Top-level names that both sides import from the caller's tree: the benchmarks, not the measured code."""
HIDDEN = "GNNBENCH_HIDDEN"
"""Variable with the top-level packages that cannot be imported, on both sides."""
_PYTHONS = (BuiltinImporter, FrozenImporter, PathFinder)


def left(path: Path, root: Path) -> set[str]:
    """Return the top-level names that contain a test file or folder, whose rootdir is `root`."""
    top = path.with_suffix("")
    while (top.parent / "__init__.py").exists():
        top = top.parent
    inside = path != root and path.is_relative_to(root)
    return {top.name, Path(path.relative_to(root).parts[0]).stem} if inside else {top.name}


class _Without:
    """Another finder, without some packages.

    Args:
        finder: that one.
        packages: the top-level names; what is added later counts, too.
    """

    def __init__(self, finder: Any, packages: Collection[str]) -> None:
        self._finder, self._packages = finder, packages

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in self._packages:
            return None
        found: ModuleSpec | None = self._finder.find_spec(name, path, target)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)


class Trees:
    """An import finder that looks for top-level packages and modules in the trees first.

    It precedes all other finders: pytest puts the caller's folder first in `sys.path`. The finder of an
    editable installation does not get the packages that a tree has: it would add modules that only the
    installed version has. Modules of the standard library are not replaced.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        """Take the folders; the first that has a name wins."""
        self._roots = list(roots)
        self._left = set(LEFT)
        self.loaded: dict[str, None] = {}
        """Top-level names that were imported from the trees; the values are not used."""
        self._whole: set[str] = set()
        """Those of them whose modules all come from one folder."""

    def install(self) -> None:
        """Put this finder before all others, including pytest's assertion rewriting."""
        others = (one if one in _PYTHONS else _Without(one, self._whole) for one in sys.meta_path)
        sys.meta_path[:] = [self, *others]
        from _pytest.assertion.rewrite import AssertionRewritingHook

        # pytest's hook comes first and searches sys.path itself, for installed plugins.
        if self._roots and hasattr(AssertionRewritingHook, "_find_spec"):
            AssertionRewritingHook._find_spec = staticmethod(self._find_anywhere)  # type: ignore[assignment] # noqa: SLF001

    def leave(self, paths: Iterable[Path], root: Path) -> None:
        """Import the packages that contain these test files or folders from the caller's tree, `root`."""
        for path in paths:
            self._left |= left(path, root)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a top-level name; submodules are found through their package."""
        if path is not None or name in self._left or name in sys.stdlib_module_names:
            return None
        spec = PathFinder.find_spec(name, self._roots)
        if spec is not None and spec.origin is None:
            # A namespace package (a folder without __init__.py): an ordinary package of that name goes first;
            # otherwise the parts in all folders belong together. The list fixes the parts: Python would
            # search sys.path again whenever that changes.
            spec = PathFinder.find_spec(name, [*self._roots, *sys.path])
            if spec is None or spec.origin is not None:
                return None
            spec.submodule_search_locations = list(spec.submodule_search_locations or ())
        elif spec is not None:
            self._whole.add(name)
        if spec is not None:
            self.loaded[name] = None
        return spec

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        """Find the metadata, such as versions, of packages installed in the trees."""
        context = context or importlib.metadata.DistributionFinder.Context()
        if "path" in vars(context):
            return ()
        there = importlib.metadata.DistributionFinder.Context(name=context.name, path=self._roots)
        return importlib.metadata.MetadataPathFinder.find_distributions(there)

    def _find_anywhere(self, name: str, path: Sequence[str] | None = None) -> ModuleSpec | None:
        return self.find_spec(name, path) or PathFinder.find_spec(name, path)
