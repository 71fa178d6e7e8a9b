"""The run files of a history: found by folders, patterns or files, and each read once.

The cache folder keeps the digest of each content, because reading a run file takes long. What is lacking or
damaged there is made anew.
"""

import glob
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ... import __version__, codec, cpu, environment
from ...errors import UsageError
from ...files import cache_folder, read_whole, user_path
from ...measure import estimate
from ...results import run_file
from ...results.parts import READABLE
from ...workloads.operations import FORMER_NAMES
from .run_digest import PLAIN, Digest

_FORM = 1
"""Of a cached digest."""


def read(paths: Sequence[Path], progress: Callable[[int, int], None]) -> tuple[dict[Path, Digest], list[str]]:
    """Return the digests of run files, and a line for each file that cannot be used.

    Args:
        paths: the run files.
        progress: called with the number of files read and to read.
    """
    cache = cache_folder() / "trend"
    found: dict[Path, Digest] = {}
    refused = []
    with suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(paths):
        progress(number, len(paths))
        try:
            found[path] = _digest(path, cache)
        except UsageError as error:
            refused.append(str(error))
    return found, refused


def _digest(path: Path, cache: Path) -> Digest:
    kept = None
    with suppress(OSError, ValueError):
        kept = cache / f"{_name(path)}.json"
        return codec.decode(json.loads(kept.read_bytes()), Digest)
    found = Digest.of(path)
    if kept:
        with suppress(OSError):
            kept.write_text(json.dumps(codec.encode(found)))
    return found


def _name(path: Path) -> str:
    """Return a name for the content of a file, and for the rules by which it is read."""
    fields = environment.WHERE, environment.WHAT
    rules = (
        f"{_FORM} {__version__} {READABLE} {fields} {cpu.CONTENDED} {estimate.NAME} {PLAIN} {FORMER_NAMES}"
    )
    return hashlib.sha256(rules.encode() + read_whole(path, run_file.MAX_BYTES)).hexdigest()


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
