"""The part `path:DIR` of a variant: a folder, used in place, whose code replaces the caller's tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import ClassVar, Self

from ...ground.errors import one_line
from ...ground.files import project, real_path
from ...ground.git import state, tracked
from ...interfaces import VariantPart
from . import places
from .prepare import Preparation, existing_folder, import_roots


@dataclass(frozen=True)
class Folder(VariantPart):
    """A folder, absolute or relative to the caller's."""

    kind: ClassVar[str] = "path"
    form: ClassVar[str] = "DIR"

    path: str

    def __str__(self) -> str:
        return f"path:{self.path}"

    @property
    def replaces(self) -> PurePath:
        """The caller's folder."""
        return PurePath()

    @classmethod
    def read(cls, value: str) -> Self:
        """Take any text."""
        return cls(value)

    def check(self, root: Path) -> None:
        """Check that the folder exists."""
        existing_folder(self.path, root, one_line(str(self)))

    @classmethod
    def prepare(cls, parts: Sequence[Self], preparation: Preparation) -> None:
        """Add its import roots."""
        for part in parts:
            side, home = preparation.side, project(preparation.root)
            folder = existing_folder(part.path, preparation.root, one_line(str(part)))
            side.trees += import_roots(folder)
            if preparation.build:
                preparation.listener.say(f"{one_line(str(part))} is used as it is: --build builds commits")
            side.places += (places.of_folder(home, real_path(folder)),)
            side.has_code = True
            side.commit, side.dirty = state(folder) if tracked(folder) else (None, False)
