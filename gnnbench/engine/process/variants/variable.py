"""The part `env:NAME=VALUE` of a variant: an environment variable."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from ...ground.errors import UsageError
from ...interfaces import VariantPart
from .prepare import Preparation


@dataclass(frozen=True)
class Variable(VariantPart):
    """A variable to set; if a name occurs twice, the last value counts, as in a shell."""

    kind: ClassVar[str] = "env"
    form: ClassVar[str] = "NAME=VALUE"

    name: str
    value: str

    @classmethod
    def read(cls, value: str) -> Self:
        """Read a name and a value, which may be empty."""
        name, equals, content = value.partition("=")
        if not equals:
            raise UsageError(f"{'env:' + value!r} sets nothing: give env:NAME=VALUE")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise UsageError(
                f"{'env:' + value!r}: {name!r} is not a variable name: use letters, digits and _"
            )
        return cls(name, content)

    @classmethod
    def prepare(cls, parts: Sequence[Self], preparation: Preparation) -> None:
        """Set them."""
        preparation.side.environment = {part.name: part.value for part in parts}
