"""Which part of a suite a session of pytest collects, and which rules of the settings match nothing in it."""

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ..settings import Settings

_CHOOSING = tuple(
    f"--gnn-{name}" for name in ("dataset", "platform", "hidden", "dtype", "index-dtype", "real")
)
"""Options that decide which benchmarks there are."""
_REMEDY = "correct its pattern, unless it is for another machine"


def whole_folders(config: Any) -> list[str] | None:
    """Return the folders, relative to rootdir, whose benchmarks the user asks for without an exception.

    None: the user selects some, by files, ids or options.

    Args:
        config: pytest's.
    """
    option, typed = config.option, map(str, config.invocation_params.args)
    selects = option.keyword or option.markexpr or option.deselect or option.ignore or option.ignore_glob
    named = [Path(config.invocation_params.dir, argument) for argument in config.args]
    if selects or getattr(option, "lf", False) or any(word.startswith(_CHOOSING) for word in typed):
        return None
    if not all(one.is_dir() for one in named):
        return None
    return [Path(os.path.relpath(one, config.rootpath)).as_posix() for one in named]


def unmatched(settings: Settings, names: Collection[str], folders: Collection[str]) -> list[str]:
    """Return a line for each rule that applies and matches none of the benchmarks, as after a rename.

    Args:
        settings: with the rules.
        names: ids of all benchmarks in some folders.
        folders: these, relative to rootdir. Rules whose pattern names another folder are left out.
    """
    return [
        f"{settings.place(one)} ({one.benchmarks}) matches no benchmark here: {_REMEDY}"
        for one in settings.rules
        if one.applies(settings.today)
        and any(_may_be_in(folder, one.benchmarks) for folder in folders)
        and not any(map(one.matches, names))
    ]


def _may_be_in(folder: str, pattern: str) -> bool:
    """Return whether a pattern may match ids in a folder; `.` has all."""
    start = re.split(r"[*?]", pattern)[0]
    return folder == "." or start.startswith(f"{folder}/") or f"{folder}/".startswith(start)
