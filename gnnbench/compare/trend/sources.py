"""Find the run files that the user names by folders, patterns or files."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from ...errors import UsageError
from ...files import user_path


def find(names: Sequence[str]) -> list[Path]:
    """Return the files, sorted, each once.

    A folder stands for all `.json` files in it and in its subfolders, without hidden ones.

    Raises:
        UsageError: a name matches no file.
    """
    found: set[Path] = set()
    for name in names:
        files = _of(name)
        if not files:
            raise UsageError(
                f"{name}: {_why(name)}; name a folder with run files, or a pattern such as 'runs/*.json'"
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
        return "this folder has no .json file"
    return "no file matches this pattern" if glob.has_magic(name) else "no such file or folder"
