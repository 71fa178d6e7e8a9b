"""Takes the kinds of profile."""

import pkgutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ..ground.packages import unusable
from .record import Counts, Sections
from .subject import Subject, UnavailableError

_TREES = ("phases", "layers", "ranges")
"""Kinds that are objects in the module `tree`; others are modules."""

_OF_ANY_CODE = ("functions", "instructions")
"""Kinds that need no torch."""


class Kind(Protocol):
    """One kind."""

    def take(self, subject: Subject, folder: Path) -> dict[str, Any]:
        """Profile, write files into the folder if the kind has any, and return the section of a record.

        Raises:
            UnavailableError: this kind cannot be taken on this machine.
        """

    def table(self, section: Mapping[str, Any]) -> str:
        """Return the section as text of at most 80 columns."""


def load(name: str) -> Kind:
    """Import and return a kind."""
    kind: Kind = pkgutil.resolve_name(f"{__package__}.{f'tree:{name}' if name in _TREES else name}")
    return kind


def take(kinds: Sequence[str], subject: Subject, folder: Path) -> tuple[Sections, dict[str, str]]:
    """Take a profile of each kind, and count what one more call does.

    Returns:
        The sections by name, and by unavailable kind the reason. The counts are taken last, when caches are
        filled, and only if at least one kind is available. They are empty where nothing imported torch.
    """
    sections: Any = {}
    unavailable: dict[str, str] = {}
    for name in kinds:
        if name not in _OF_ANY_CODE and (reason := unusable("torch")):
            unavailable[name] = f"profile kinds except {' and '.join(_OF_ANY_CODE)} need torch: {reason}"
            continue
        try:
            sections[name] = load(name).take(subject, folder)
        except UnavailableError as error:
            unavailable[name] = str(error)
    if sections and sys.modules.get("torch"):
        from . import counts

        sections["counts"] = counts.take(subject, folder)
    elif sections:
        sections["counts"] = {kind: [] for kind in Counts.__annotations__}
    return sections, unavailable
