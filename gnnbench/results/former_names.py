"""Read old files: replace former names of operations with current ones."""

import re
from pathlib import Path
from typing import Any

from .. import json_io
from ..workloads.operations import FORMER_NAMES
from ..workloads.platforms import PLATFORMS
from ..workloads.spec import DIRECTIONS


def read(path: Path, kind: str, max_bytes: int, remedy: str) -> tuple[Any, bytes]:
    """Return a file's content with current names of operations, and its bytes; see `json_io.read`."""
    content, raw = json_io.read(path, kind, max_bytes, remedy)
    return renewed(content, raw), raw


def renewed(content: Any, raw: bytes) -> Any:
    """Return parsed JSON with current names of operations in test ids and specs.

    Args:
        content: parsed JSON.
        raw: the file's bytes; if they contain no former name, `content` itself is returned.
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
    """Replace former names at the start of a spec's id: `test_self_loops[add_self_loops-forward-pyg-...]`."""
    for former, name in FORMER_NAMES.items():
        follows = f"-({'|'.join(DIRECTIONS)})-({'|'.join(PLATFORMS)})-"
        text = re.sub(rf"(?<![\w-]){former}(?={follows})", name, text)
    return text
