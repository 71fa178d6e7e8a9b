"""Which commits of the project the sides of a comparison ran."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from ..measure.sources import CALLERS_TREE
from ..results.run_file import RunFile
from ..variants.prepare import Prepared


@dataclass(frozen=True)
class Revision:
    """The commits of one side."""

    commits: tuple[str, ...] = ()
    """Empty: unknown. Several: its processes ran different ones."""
    dirty: bool = False
    """Whether tracked files differed from a commit."""

    @classmethod
    def of(cls, side: Prepared) -> Self:
        """Return the revision of a variant."""
        return cls((side.commit,) if side.commit else (), side.dirty)

    @classmethod
    def of_runs(cls, runs: Iterable[RunFile]) -> Self:
        """Return the revision of run files; a file that does not say its commit makes it unknown."""
        found = [
            next((tree for tree in run.sources.trees if tree.path == CALLERS_TREE), None)
            if run.sources
            else None
            for run in runs
        ]
        commits = [tree and tree.commit for tree in found]
        known = tuple(dict.fromkeys(one for one in commits if one))
        return cls(known if all(commits) else (), any(tree and tree.dirty for tree in found))
