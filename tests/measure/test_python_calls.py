"""Counts of Python calls."""

import os
from functools import partial
from pathlib import Path

from gnnbench.measure.python_calls import python_calls


def test_a_deeper_folder_has_no_more_calls(tmp_path: Path) -> None:
    """PyG resolves the path of its own file when it makes a layer."""

    def resolve(folder: str) -> str:
        return os.path.realpath(folder)

    deeper = tmp_path / "one" / "more"
    deeper.mkdir(parents=True)
    assert [python_calls(partial(resolve, str(folder))) for folder in (tmp_path, deeper)] == [1, 1]
