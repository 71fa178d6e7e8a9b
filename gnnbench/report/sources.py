"""Read and check the files of a page: each by its format, and that they belong together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import environment, json_io, units
from ..compare import result
from ..compare import runs as comparison
from ..compare.result import Kind, Result
from ..errors import UsageError
from ..files import real_path
from ..profile import record
from ..results import former_names, run_file
from ..results.run_file import RunFile
from .names import clean

_REMEDY = "give a run file, a result of gnnbench ab or compare, or a profile"


@dataclass(frozen=True)
class Source:
    """One file."""

    path: Path
    kind: Kind
    content: Mapping[str, Any]
    """See docs/formats.md."""
    checked: RunFile | Result | record.ProfileRecord
    """The parsed content."""


@dataclass(frozen=True)
class Sources:
    """The files of a page."""

    first: Source | None
    """The main file; None: there are profiles only."""
    base: tuple[Source, ...]
    """Runs of the older side; only if `first` is a run."""
    profiles: tuple[Source, ...]

    def left_out(self) -> list[tuple[Path, tuple[str, ...]]]:
        """Return what is left out of each run file, see `RunFile.left_out`."""
        runs = [one.checked for one in (self.first, *self.base) if one]
        return [(run.path, run.left_out) for run in runs if isinstance(run, RunFile)]


def read(paths: Sequence[Path]) -> Sources:
    """Read all files; the first that is not a profile is shown, further ones are its base.

    Raises:
        UsageError: a file cannot be used, or the files do not belong together.
    """
    found = [_read(file) for path in paths for file in _files(path)]
    profiles = tuple(one for one in found if one.kind == "profile")
    others = [one for one in found if one.kind != "profile"]
    shown, base = others[:1], others[1:]
    if base:
        _check_base(shown[0], base)
    if profiles:
        _check_environments([*profiles, *shown])
    return Sources(shown[0] if shown else None, tuple(base), profiles)


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


def _read(path: Path) -> Source:
    content, raw = former_names.read(path, "file", run_file.MAX_BYTES, _REMEDY)
    kind = result.kind(content)
    if kind is None or kind in ("compare --by", "calibration"):
        reason = f"there is no page of {units.article(f'{kind} file')}" if kind else "unknown format"
        json_io.refuse(path, reason, _REMEDY)
    if kind == "run":
        return Source(path, kind, content, run_file.parse(path, run_file.check(path, content, raw)))
    if kind in ("ab", "compare"):
        return Source(path, kind, content, result.parse(path, content))
    return Source(path, kind, content, record.check(path, content))


def _check_base(first: Source, base: Sequence[Source]) -> None:
    """Refuse a base that is not runs of the same environment.

    Raises:
        UsageError: the base is refused.
    """
    paths = [real_path(one.path) for one in (first, *base)]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise UsageError(f"{twice} is given twice; give each run once")
    for one in (first, *base):
        if one.kind != "run":
            kind = units.article(f"{one.kind} file")
            raise UsageError(f"{one.path}: {kind} cannot be compared with other files; give it alone")
    runs = [one.checked for one in (first, *base) if isinstance(one.checked, RunFile)]
    for run in runs[1:]:
        if fields := comparison.differing_fields([run], runs[:1]):
            raise UsageError(
                f"{run.path} and {first.path} have different environments ({_described(fields)}); "
                "give runs of one environment"
            )


def _check_environments(sources: Sequence[Source]) -> None:
    """Refuse files of different environments.

    Raises:
        UsageError: the environments differ.
    """
    known = [(one, found) for one in sources if (found := _environment(one))]
    for one, found in known[1:]:
        try:
            fields = environment.differences(found, known[0][1])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            json_io.refuse(
                one.path, f"the environment in it or in {known[0][0].path} is damaged: {error!r}", _REMEDY
            )
        if fields:
            raise UsageError(
                f"{one.path} and {known[0][0].path} have different environments ({_described(fields)}); "
                "make a page for each"
            )


def _described(fields: Sequence[tuple[str, Any, Any]]) -> str:
    return clean(comparison.describe_fields(fields))


def _environment(source: Source) -> Mapping[str, Any] | None:
    if source.kind == "run":
        assert isinstance(source.checked, RunFile)
        return source.checked.environment
    found: Mapping[str, Any] | None = source.content.get("environment")
    return found
