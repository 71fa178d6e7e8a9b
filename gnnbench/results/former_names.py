"""Saved files in which an operation has a name that it had before: they are read with the name of today."""

import re
from pathlib import Path
from typing import Any

from .. import json_io
from ..workloads.operations import FORMER_NAMES
from ..workloads.platforms import PLATFORMS
from ..workloads.spec import DIRECTIONS


def read(path: Path, kind: str, max_bytes: int, remedy: str) -> tuple[Any, bytes]:
    """Return a file's content with the operations' names of today, and its bytes; see `json_io.read`."""
    content, raw = json_io.read(path, kind, max_bytes, remedy)
    return renewed(content, raw), raw


def renewed(content: Any, raw: bytes) -> Any:
    """Return what was read from JSON, with the operations' names of today in test ids and specs.

    Args:
        content: as it was read.
        raw: its bytes. Where no former name is among them, nothing is copied.
    """
    return _renewed(content) if any(name.encode() in raw for name in FORMER_NAMES) else content


def _renewed(content: Any) -> Any:
    match content:
        case str():
            return _in_text(content)
        case list():
            return [_renewed(one) for one in content]
        case {"operation": name, "direction": _, "platform": _}:
            return {**content, "operation": FORMER_NAMES.get(name, name)}
        case dict():
            return {_in_text(name): _renewed(value) for name, value in content.items()}
    return content


def _in_text(text: str) -> str:
    """Replace the names that begin a spec's id, as in `test_self_loops[add_self_loops-forward-pyg-...]`."""
    for former, name in FORMER_NAMES.items():
        follows = f"-({'|'.join(DIRECTIONS)})-({'|'.join(PLATFORMS)})-"
        text = re.sub(rf"(?<![\w-]){former}(?={follows})", name, text)
    return text
