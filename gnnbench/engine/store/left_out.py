"""What is left out of run files, in lines."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..ground import units
from ..ground.errors import one_line

_NAMED = 3
"""Most names in a line; others are counted."""


def again(names: Iterable[str]) -> tuple[str, ...]:
    """Return the line on benchmarks of a run file that have the name of an earlier one, if there are any."""
    repeated = [name for name, count in Counter(names).items() for _ in range(count - 1)]
    which = "with the name of an earlier one (a test that times two calls?)"
    return (line(which, repeated),) if repeated else ()


def line(which: str, names: Sequence[str]) -> str:
    """Return the line on benchmarks that are left out."""
    return f"left out {units.count(len(names), 'benchmark')} {which}: {_listed(names)}"


def several(names: Iterable[str]) -> list[str]:
    """Return a line on tests that time several calls under their one name, if there are any."""
    tests = list(dict.fromkeys(names))
    what = "of several benchmarks in one test only the first counts; give each a test of its own"
    return [f"{what}: {_listed(tests)}"] if tests else []


def by_file(rows: Iterable[tuple[Path, Sequence[str]]]) -> list[str]:
    """Return each line of files once, after the files that it is about."""
    files: dict[str, list[str]] = {}
    for path, lines in rows:
        for text in lines:
            files.setdefault(text, []).append(str(path))
    return [one_line(f"{_listed(paths)}: {text}") for text, paths in files.items()]


def _listed(names: Sequence[str]) -> str:
    return units.listed(list(dict.fromkeys(names)), _NAMED)
