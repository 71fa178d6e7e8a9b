"""The run files that a user names: folders, patterns, files."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from ...errors import UsageError
from ...files import user_path


def find(names: Sequence[str]) -> list[Path]:
    """Return the files, each once, in the order of their names.

    Of a folder those are all that end in `.json`, in folders below it too, but none with a dot in front.

    Raises:
        UsageError: one of the names stands for no file.
    """
    found: set[Path] = set()
    for name in names:
        files = _of(name)
        if not files:
            raise UsageError(
                f"{name}: {_why(name)}; name a folder with run files, or a pattern as 'runs/*.json'"
            )
        found.update(Path(os.path.abspath(file)) for file in files)  # noqa: PTH100 - a link's own name
    return sorted(found)


def _of(name: str) -> list[Path]:
    path = user_path(name)
    if path.is_dir():
        return _below(path)
    if path.exists():
        return [path]
    return [Path(one) for one in glob.glob(str(path), recursive=True) if Path(one).is_file()]  # noqa: PTH207 - `**`


def _below(folder: Path) -> list[Path]:
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found.extend(
            Path(place, name) for name in names if name.endswith(".json") and not name.startswith(".")
        )
    return found


def _why(name: str) -> str:
    if user_path(name).is_dir():
        return "no file that ends in .json is in this folder"
    return "no file is of this pattern" if glob.has_magic(name) else "is not there"
