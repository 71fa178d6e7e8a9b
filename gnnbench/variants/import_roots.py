"""Import roots that come before everything installed, and before the caller's own tree."""

import importlib.metadata
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

_LEFT = ("conftest", "setup", "tests", "test", "benchmarks")
"""Of the caller's tree on both sides: what is timed with, not what is timed."""


class Trees:
    """Finds top-level packages and modules in the trees, wherever else there are others of their names.

    It stands before all other finders, as pytest puts the caller's folder first in `sys.path`, and an
    editable installation may have a finder of its own. Modules of the standard library stay what they are.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        """Look nowhere else than in these folders; the first that has a name wins."""
        self._roots = list(roots)
        self._left = set(_LEFT)
        self.loaded: dict[str, None] = {}
        """Top-level names that were imported from the trees, in order."""

    def install(self) -> None:
        """Come before all other finders, also in what pytest rewrites the assertions of."""
        sys.meta_path.insert(0, self)
        from _pytest.assertion.rewrite import AssertionRewritingHook

        # It stands first and looks in sys.path itself, for the plugins that are installed.
        if self._roots and hasattr(AssertionRewritingHook, "_find_spec"):
            AssertionRewritingHook._find_spec = staticmethod(self._find_anywhere)  # type: ignore[assignment] # noqa: SLF001

    def leave(self, paths: Iterable[Path], root: Path) -> None:
        """Leave the packages that hold these tests to the caller's tree.

        Args:
            paths: test files or folders of them.
            root: the caller's tree.
        """
        for path in paths:
            top = path.with_suffix("")
            while (top.parent / "__init__.py").exists():
                top = top.parent
            self._left.add(top.name)
            if path != root and path.is_relative_to(root):
                self._left.add(Path(path.relative_to(root).parts[0]).stem)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a top-level name; what lies in packages is found through them."""
        if path is not None or name in self._left or name in sys.stdlib_module_names:
            return None
        spec = PathFinder.find_spec(name, self._roots)
        if spec is not None and spec.origin is None:
            # A folder without __init__.py: any ordinary package of its name is meant rather than it, and of
            # others like it the parts belong together. A list, as the path would be looked up anew in
            # sys.path whenever that changes.
            spec = PathFinder.find_spec(name, [*self._roots, *sys.path])
            if spec is None or spec.origin is not None:
                return None
            spec.submodule_search_locations = list(spec.submodule_search_locations or ())
        if spec is not None:
            self.loaded[name] = None
        return spec

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        """Find the versions of what is installed in the trees."""
        context = context or importlib.metadata.DistributionFinder.Context()
        if "path" in vars(context):
            return ()
        there = importlib.metadata.DistributionFinder.Context(name=context.name, path=self._roots)
        return importlib.metadata.MetadataPathFinder.find_distributions(there)

    def _find_anywhere(self, name: str, path: Sequence[str] | None = None) -> ModuleSpec | None:
        return self.find_spec(name, path) or PathFinder.find_spec(name, path)
