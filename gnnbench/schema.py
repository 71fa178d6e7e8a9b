"""Checks a file's content against the JSON Schema of its format."""

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

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
