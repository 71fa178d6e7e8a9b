"""Read and check the files of a page: each by its format, and that they belong together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import environment, json_io, units
from ..compare import result
from ..compare import runs as comparison
from ..compare.result import Result
from ..errors import UsageError
from ..files import distinct
from ..profile import record
from ..profile.record import ProfileRecord
from ..results import former_names, run_file
from ..results.run_file import RunFile
from .names import clean

_REMEDY = "give a run file, a result of gnnbench ab or compare, or a profile"


Content = RunFile | Result | ProfileRecord


@dataclass(frozen=True)
class Sources:
    """The files of a page."""

    path: Path
    """The main file."""
    first: RunFile | Result | None
    """Its content; None: there are profiles only."""
    base: tuple[RunFile, ...]
    """Runs of the older side; only if `first` is a run."""
    profiles: tuple[ProfileRecord, ...]

    def left_out(self) -> list[tuple[Path, tuple[str, ...]]]:
        """Return what is left out of each run file, see `RunFile.left_out`."""
        return [(run.path, run.left_out) for run in (self.first, *self.base) if isinstance(run, RunFile)]


def read(paths: Sequence[Path]) -> Sources:
    """Read all files; the first that is not a profile is shown, further ones are its base.

    Raises:
        UsageError: a file cannot be used, or the files do not belong together.
    """
    found = [(file, _read(file)) for path in paths for file in _files(path)]
    profiles = [(file, one) for file, one in found if isinstance(one, ProfileRecord)]
    others = [(file, one) for file, one in found if not isinstance(one, ProfileRecord)]
    base = _base(others) if len(others) > 1 else ()
    if profiles:
        _check_environments([*profiles, *others[:1]])
    path, first = others[0] if others else (profiles[0][0], None)
    return Sources(path, first, base, tuple(one for _, one in profiles))


def _files(path: Path) -> list[Path]:
    """Return the file, or the profiles of a folder."""
    if not path.is_dir():
        return [path]
    if (path / record.FILE).is_file():
        return [path / record.FILE]
    found = sorted(path.glob(f"**/{record.FILE}"))
    if not found:
        raise UsageError(f"{path}: this folder has no {record.FILE}; name run files one by one")
    newest = {file.parent.parent: file for file in found}  # per benchmark, whose folders are numbered
    return list(newest.values())


def _read(path: Path) -> Content:
    content, raw = former_names.read(path, "file", run_file.MAX_BYTES, _REMEDY)
    kind = result.kind(content)
    if kind is None or kind in ("compare --by", "calibration"):
        reason = f"there is no page of {units.article(f'{kind} file')}" if kind else "unknown format"
        json_io.refuse(path, reason, _REMEDY)
    if kind == "run":
        return run_file.parse(path, run_file.check(path, content, raw))
    if kind in ("ab", "compare"):
        return result.parse(path, content)
    return record.check(path, content)


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


def _check_environments(sources: Sequence[tuple[Path, Content]]) -> None:
    """Refuse files of different environments.

    Raises:
        UsageError: the environments differ.
    """
    known = [(path, found) for path, one in sources if (found := one.environment)]
    for path, found in known[1:]:
        first, here = known[0]
        try:
            fields = environment.differences(found, here)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            json_io.refuse(path, f"the environment in it or in {first} is damaged: {error!r}", _REMEDY)
        if fields:
            raise UsageError(
                f"{path} and {first} have different environments ({_described(fields)}); make a page for each"
            )


def _described(fields: Sequence[tuple[str, Any, Any]]) -> str:
    return clean(comparison.describe_fields(fields))
