"""Read and check the files of a page: each by its format, and that they belong together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import json_io, units
from ..compare import result
from ..compare import runs as comparison
from ..compare.result import Result
from ..errors import UsageError
from ..files import distinct
from ..results import former_names, run_file
from ..results.run_file import RunFile
from .names import clean

_REMEDY = "give a run file, or a result of gnnbench ab or compare"


@dataclass(frozen=True)
class Sources:
    """The files of a page."""

    path: Path
    """The main file."""
    first: RunFile | Result
    """Its content."""
    base: tuple[RunFile, ...]
    """Runs of the older side; only if `first` is a run."""

    def left_out(self) -> list[tuple[Path, tuple[str, ...]]]:
        """Return what is left out of each run file, see `RunFile.left_out`."""
        return [(run.path, run.left_out) for run in (self.first, *self.base) if isinstance(run, RunFile)]


def read(paths: Sequence[Path]) -> Sources:
    """Read all files; the first is shown, further ones are its base.

    Raises:
        UsageError: a file cannot be used, or the files do not belong together.
    """
    found = [(path, _read(path)) for path in paths]
    path, first = found[0]
    return Sources(path, first, _base(found) if len(found) > 1 else ())


def _read(path: Path) -> RunFile | Result:
    content, raw = former_names.read(path, "file", run_file.MAX_BYTES, _REMEDY)
    kind = result.kind(content)
    if kind not in ("run", "ab", "compare"):
        reason = f"there is no page of {units.article(f'{kind} file')}" if kind else "unknown format"
        json_io.refuse(path, reason, _REMEDY)
    if kind == "run":
        return run_file.parse(path, run_file.check(path, content, raw))
    return result.parse(path, content)


def _base(found: Sequence[tuple[Path, RunFile | Result]]) -> tuple[RunFile, ...]:
    """Return all files but the first, as runs of the same environment.

    Raises:
        UsageError: a file is no run, is named twice, or has another environment.
    """
    distinct([path for path, _ in found])
    runs = []
    for path, one in found:
        if isinstance(one, Result):
            kind = units.article(f"{one.command} file")
            raise UsageError(f"{path}: {kind} cannot be compared with other files; give it alone")
        runs.append(one)
    first, *base = runs
    for run in base:
        if fields := comparison.differing_fields([run], [first]):
            raise UsageError(
                f"{run.path} and {first.path} have different environments ({_described(fields)}); "
                "give runs of one environment"
            )
    return tuple(base)


def _described(fields: Sequence[tuple[str, Any, Any]]) -> str:
    return clean(comparison.describe_fields(fields))
