"""gnnbench's part of a benchmark's `extra_info`, or of a run file. Users may write anything in its place."""

from typing import Any

from .. import json_io

KEY = "gnnbench"


def part(whole: Any) -> dict[str, Any]:
    """Return gnnbench's part, which has a whole number as `version`; empty: there is none."""
    found = json_io.fields(json_io.fields(whole).get(KEY))
    return found if type(found.get("version")) is int else {}


def new_part(fixture: Any, version: int) -> dict[str, Any]:
    """Return the part of a benchmark's fixture, to write to; what is none of this version is replaced."""
    if not isinstance(fixture.extra_info, dict):
        fixture.extra_info = {}
        if fixture.stats:  # which is what is saved
            fixture.stats.extra_info = fixture.extra_info
    found = part(fixture.extra_info)
    if found.get("version") != version:
        found = fixture.extra_info[KEY] = {"version": version}
    return found
