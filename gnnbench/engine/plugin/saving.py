"""Replaces the two methods with which pytest-benchmark writes run files, so that no partial file remains."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.session import BenchmarkSession
from pytest_benchmark.storage.file import FileStorage
from pytest_benchmark.utils import safe_dumps

from ..ground import json_io
from ..ground.files import next_number, real_path, write_whole


class Saving:
    """Replaces the methods of `--benchmark-json` and `--benchmark-save` during a session."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        """For each file that could not be written, a text that says why."""
        self._replaced = pytest.MonkeyPatch()

    def install(self) -> None:
        """Replace the methods."""
        self._replaced.setattr(BenchmarkSession, "save_json", self._noting_failures(_save_json))
        self._replaced.setattr(FileStorage, "save", self._noting_failures(_save))

    def remove(self) -> None:
        """Restore pytest-benchmark's methods."""
        self._replaced.undo()

    def _noting_failures(self, save: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(save)  # a session inside of this one checks the parameters
        def saved(theirs: Any, *arguments: Any) -> None:
            try:
                save(theirs, *arguments)
            except OSError as error:
                file, why = error.filename or "a file", error.strerror or error
                self.failures.append(f"{file} cannot be written ({why}); it was not saved")

        return saved


def _save_json(self: Any, output_json: dict[str, Any]) -> None:
    path = real_path(Path(self.json.name if hasattr(self.json, "close") else self.json))
    text = _text(output_json)
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")  # for example /dev/stdout
    else:
        write_whole(path, text)
    self.logger.info(f"Wrote benchmark data in: {path}", purple=True)  # noqa: G004 - not Python's logger


def _save(self: Any, output_json: dict[str, Any], save: str) -> None:
    """Save under the next number, which no other process takes."""
    with next_number(self.get("").resolve(), lambda: int(self._next_num) - 1) as (number, _):
        path = self.get(f"{number:04}_{save}.json")
        write_whole(path, _text(output_json))
    self.logger.info(f"Saved benchmark data in: {path}")  # noqa: G004


def _text(output_json: dict[str, Any]) -> str:
    """Return JSON that any program can read: without NaN and Infinity, of parameters for example."""
    try:
        return safe_dumps(output_json, allow_nan=False, indent=4)
    except ValueError:
        content = json.loads(safe_dumps(output_json), parse_constant=json_io.NAMES.__getitem__)
        return json.dumps(content, indent=4)
