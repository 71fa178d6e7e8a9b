"""gnnbench's part of a benchmark's `extra_info`, or of a run file. Users may write anything in its place."""

from typing import Any

from .. import json_io

KEY = "gnnbench"


def part(whole: Any) -> dict[str, Any]:
    """Return gnnbench's part, which has a whole number as `version`; empty: there is none."""
    found = json_io.fields(json_io.fields(whole).get(KEY))
    return found if type(found.get("version")) is int else {}
