"""Checks a file's content against the JSON Schema of its format."""

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import json_io

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_LONGEST = 100
"""Characters of an error message, which quotes the content."""


def departure(content: Any, name: str, definition: str | None = None) -> str | None:
    """Return the first mismatch between content and schema, as `PLACE: REASON`; None when it is valid.

    Args:
        content: the parsed JSON.
        name: the schema: `run`, `ab`, `compare`, ...
        definition: a definition under the schema's `$defs` to check against; None: the whole schema.
    """
    from jsonschema.exceptions import best_match  # slow to import

    found = best_match(_validator(name, definition).iter_errors(content))
    if found is None:
        return None
    message = " ".join(found.message.split())
    shown = message if len(message) <= _LONGEST else f"{message[: _LONGEST - 3]}..."
    return f"{found.json_path}: {shown}"


def check(path: Path, content: dict[str, Any], name: str, version: int, remedy: str) -> None:
    """See that a file's content is of a version and of the form that its schema describes.

    Args:
        path: the file.
        content: as it was read from JSON.
        name: of the schema.
        version: that can be read.
        remedy: what to do about another one, or a damaged one.

    Raises:
        UsageError: it is of another version or form.
    """
    found = content.get("version")
    if found != version:
        reason = f"version {found!r} of the format, and this gnnbench reads {version}"
        json_io.refuse(path, reason, f"use the gnnbench that wrote it, or {remedy}")
    if wrong := departure(content, name):
        json_io.refuse(path, f"damaged at {wrong}", remedy)


@cache
def _validator(name: str, definition: str | None) -> "Draft202012Validator":
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    folder = resources.files(__package__) / "schemas"
    schemas = [json.loads(file.read_text("utf-8")) for file in folder.iterdir()]
    registry: Registry[Any] = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas
    )
    place = f"gnnbench/{name}.schema.json" + (f"#/$defs/{definition}" if definition else "")
    return Draft202012Validator({"$ref": place}, registry=registry)
