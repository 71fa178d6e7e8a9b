"""The part `pip:REQUIREMENT` of a variant: what pip installs into an overlay."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from packaging.requirements import Requirement as PipRequirement

from ...ground.errors import UsageError
from ...ground.files import writing
from ...interfaces import VariantPart
from .command import is_local
from .overlay import overlay, versions
from .prepare import Preparation
from .torch_release import is_torch


@dataclass(frozen=True)
class Requirement(VariantPart):
    """A requirement, an archive or a folder, installed by this environment's pip.

    The overlay is kept if the requirement is pinned to a release or is an unchanged local file; otherwise
    until the end of the day (UTC), and the versions found are reported. A local folder is built from a copy.
    Torch gets an overlay of its own, with what it needs.
    """

    kind: ClassVar[str] = "pip"
    form: ClassVar[str] = "REQUIREMENT"

    text: str

    @classmethod
    def read(cls, value: str) -> Self:
        """Check that it is a requirement, and that pip reads no option."""
        if value.startswith("-"):
            raise UsageError(
                f"{'pip:' + value!r} looks like an option of pip: give a requirement; set options in PIP_..."
            )
        if is_local(value):
            return cls(value)
        try:
            url = PipRequirement(value).url
        except (ValueError, RecursionError) as error:
            reason = str(error).partition("\n")[0]
            raise UsageError(
                f"{'pip:' + value!r} is not a requirement ({reason}): give pip:NAME==VERSION or ./x.whl"
            ) from None
        if url and url.lower().startswith("file:"):
            # Changes of a local file are noticed only if it is given as a path.
            raise UsageError(f"{'pip:' + value!r} is a local file: give its path, like pip:./x.whl")
        return cls(value)

    @classmethod
    def prepare(cls, parts: Sequence[Self], preparation: Preparation) -> None:
        """Install them together, but for torch, and add the overlays."""
        side, texts = preparation.side, [part.text for part in parts]
        alone = [text for text in texts if preparation.apart or is_torch(text)]
        together = tuple(text for text in texts if text not in alone)
        for requirements in filter(None, (*((text,) for text in alone), together)):
            with writing(preparation.cache):
                folder = preparation.stack.enter_context(overlay(requirements, preparation))
            side.trees += (folder,)
            side.versions |= versions(folder)
