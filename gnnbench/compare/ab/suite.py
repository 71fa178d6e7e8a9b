"""The benchmarks that both sides have collected."""

from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import UsageError
from ...variants.child import SIDES
from ...variants.collected import no_benchmarks

_NO_DEFAULT = "none of the selected benchmarks is a default one; give --gnn-all too, after --"
_EMPTY: Mapping[str, Any] = {
    **dict.fromkeys(("names", "left_out", "declared", "notes", "marked", "places"), ()),
    "refused": {},
    "folders": None,
    "rootdir": ".",
}


class Suite:
    """What both sides say of the tests that they have collected.

    Args:
        base: the older side's answer, see `compare/ab/worker.py`; empty: there is none.
        head: the newer side's.
    """

    def __init__(self, base: Mapping[str, Any] | None = None, head: Mapping[str, Any] | None = None) -> None:
        self._sides = {side: given or _EMPTY for side, given in zip(SIDES, (base, head), strict=True)}
        older, newer = self._sides.values()
        names = dict.fromkeys((*newer["names"], *older["names"]))
        left_out = {*newer["left_out"], *({*older["left_out"]} - {*newer["names"]})}
        self.names = tuple(name for name in names if name not in left_out)
        """The selected tests of either side; only running a test shows whether it is a benchmark."""
        self.left_out = tuple(name for name in names if name in left_out)
        """Benchmarks of gnnbench that are not selected, but can be visited: the newer side says that they are
        not default ones."""
        self.declared = frozenset(name for one in self._sides.values() for name in one["declared"])
        """The tests that request the fixture `benchmark` themselves; others may get it indirectly."""
        self.places: tuple[str, ...] = tuple(newer["places"])
        """The folders, files and ids among pytest's arguments, as the newer side reads them."""
        self.folders: tuple[str, ...] | None = None
        """The folders whose benchmarks are all collected, relative to rootdir; None: only some are."""
        if older["folders"] is not None and newer["folders"] is not None:
            self.folders = tuple(newer["folders"])
        self.rootdir: str = newer["rootdir"]
        """The folder in which ids begin, relative to pytest's working directory."""

    @property
    def benchmarks(self) -> list[str]:
        """The tests that request `benchmark`, in the order of collection."""
        return [name for name in self.names if name in self.declared]

    def chosen(self) -> list[str]:
        """Return the benchmarks.

        Raises:
            UsageError: there are none; the message says why.
        """
        if not self.benchmarks:
            marked = self._sides[SIDES[1]]["marked"]
            raise UsageError(_NO_DEFAULT if self.left_out else no_benchmarks([*self._refusals()], marked))
        return self.benchmarks

    def notes(self, *, all_named: bool = False) -> list[str]:
        """Return a line on each thing that their pytest does otherwise than the suite says.

        Files that a side cannot collect are among them.

        Args:
            all_named: whether the benchmarks were named, so that no line says that only default ones run.
        """
        own = [line for one in self._sides.values() for line in (*one["notes"], *one["marked"])]
        more = "pytest's argument --gnn-all adds the others"
        choice = [f"of gnnbench's benchmarks, only the default ones: {more}"] if self.left_out else []
        return [*dict.fromkeys(own), *self._refusals(), *([] if all_named else choice)]

    def missing(self, name: str) -> dict[str, str]:
        """Return the sides that have no test of a name, each with the reason if it is known."""
        found = {}
        for side, one in self._sides.items():
            if name not in one["names"]:
                refused = [
                    f": {file} cannot be collected: {reason}"
                    for file, reason in one["refused"].items()
                    if name.startswith(file)
                ]
                found[side] = f"has no such test{''.join(refused[:1])}"
        return found

    def _refusals(self) -> Iterable[str]:
        """Yield a line for each file that a side cannot collect."""
        for side, one in self._sides.items():
            for file, reason in one["refused"].items():
                yield f"{side}: {file} cannot be collected: {reason}"
