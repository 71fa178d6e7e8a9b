"""Converts saved data from and to dataclasses of numbers, texts, lists and JSON objects.

A field that the content lacks gets its default, and a field that the type lacks is ignored.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from msgspec import Meta, ValidationError, convert, to_builtins
from msgspec.json import schema_components

from . import json_io

LARGEST = 1e18
"""Far above any plausible value: 30 years are 1e18 ns."""
Positive = Annotated[float, Meta(gt=1 / LARGEST, lt=LARGEST)]
"""A time or a ratio."""
NotNegative = Annotated[float, Meta(ge=0, lt=LARGEST)]
Level = Annotated[float, Meta(gt=0, lt=1)]
"""Level of an interval; also a minimum effect of interest."""
Fraction = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0, lt=10**18)]
PositiveCount = Annotated[int, Meta(ge=1, lt=10**18)]

UNSAVED = {"saved": False}
"""Metadata of a dataclass's field that is not saved."""
_Any = TypeVar("_Any")


def decode(content: Any, kind: type[_Any]) -> _Any:
    """Return parsed JSON as an object of a type.

    Raises:
        ValueError: the content does not fit the type; the message is one line, `$.rows[0].time: reason`.
    """
    try:
        return convert(content, kind)
    except ValidationError as error:
        reason, _, path = " ".join(str(error).split()).partition(" - at ")
        raise ValueError(f"{path.strip('`') or '$'}: {reason[:1].lower()}{reason[1:]}") from None


def encode(value: Any) -> Any:
    """Return an object in a form that `json.dumps` accepts."""
    if is_dataclass(value):
        names = (item.name for item in fields(value) if item.metadata != UNSAVED)
        return {name: encode(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {name: encode(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(encode, value))
    return to_builtins(value)


def as_text(value: Any) -> str:
    return json.dumps(encode(value), indent=1) + "\n"


def read(path: Path, content: Any, kind: type[_Any], version: int, remedy: str) -> _Any:
    """Return a file's parsed content as an object of type `kind`; an error message ends with `remedy`."""
    number = content.get("version") if isinstance(content, dict) else None
    if number != version:
        reason = f"format version {number!r}, but this gnnbench reads version {version}"
        json_io.refuse(path, reason, f"use the gnnbench that wrote it, or {remedy}")
    try:
        return decode(content, kind)
    except ValueError as error:
        json_io.refuse(path, f"damaged at {error}", remedy)


def schema(*kinds: type) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of an object that has the fields of all these types."""
    schemas, definitions = schema_components(
        kinds, schema_hook=lambda _: {"type": "string"}, ref_template="#/$defs/{name}"
    )
    body = schemas[0] if len(kinds) == 1 else {"allOf": list(schemas)}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body, "$defs": definitions}
