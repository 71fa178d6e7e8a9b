"""What the author of a test says in its markers about how it is timed."""

from typing import Any

IN_PLACE = "in_place"
WHOLE_CALL = "whole_call"


def reason(item: Any, name: str) -> str | None:
    """Return the reason that a pytest item's marker gives, or that it is marked; None: it is not."""
    marker = item.get_closest_marker(name)
    if marker is None:
        return None
    return " ".join(map(str, (*marker.args, *marker.kwargs.values()))) or f"marked {name}"
