"""The JSON Schemas of our formats, and where a file's content departs from them."""

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_LONGEST = 100
"""Characters of a message, which quotes what is there."""


def departure(content: Any, name: str, definition: str | None = None) -> str | None:
    """Say where content is not of the form that a schema describes, and how; None where it is.

    Args:
        content: as it was read from JSON.
        name: of the schema: `run`, `ab`, `compare`, ...
        definition: the part of the schema, under its `$defs`, that describes it; None: the whole.
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
