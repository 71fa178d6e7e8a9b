"""One side of a comparison as the user types it, `git:main env:OMP_NUM_THREADS=1`: parsed, and prepared."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import TypeVar

from ...ground.errors import UsageError, unknown_name
from ...ground.files import cache_folder, real_path
from ...ground.git import state
from ...interfaces import Listener, VariantPart
from .import_roots import HIDDEN
from .parts import Commit, Folder, Requirement, Variable
from .prepare import Preparation, Prepared
from .torch_release import not_usable, other_builds

KINDS: Mapping[str, type[VariantPart]] = {kind.kind: kind for kind in (Folder, Commit, Requirement, Variable)}
"""The kinds of parts, in the order in which they are prepared."""
WORKING_TREE = "."

_FORM = "give git:REF, git:DIR@REF, path:DIR, pip:REQUIREMENT, env:NAME=VALUE or ."
_Part = TypeVar("_Part", bound=VariantPart)


@dataclass(frozen=True)
class Variant:
    """The code and settings of one side; without a part that is a tree, the working tree's code."""

    text: str
    """As the user typed it."""
    parts: tuple[VariantPart, ...] = ()

    def of(self, kind: type[_Part]) -> list[_Part]:
        """Return its parts of a kind."""
        return [part for part in self.parts if isinstance(part, kind)]

    def check(self, root: Path) -> None:
        """Check that its commits and folders exist; nothing is checked out or installed."""
        for part in self.parts:
            part.check(root)


def parse(text: str) -> Variant:
    """Read a variant: parts separated by spaces, quoted as in a shell."""
    typed = words(text)
    if not typed:
        raise UsageError(f"variant {text!r} is empty: {_FORM}")
    parts = [_part(word) for word in typed if word != WORKING_TREE]
    replaced = [(PurePath(), word) for word in typed if word == WORKING_TREE]
    replaced += [(part.replaces, str(part)) for part in parts if part.replaces is not None]
    for folder, _ in replaced:
        sources = [word for place, word in replaced if place == folder]
        if len(sources) > 1:
            raise UsageError(
                f"variant {text!r} has {len(sources)} sources of code for one folder,"
                f" {' and '.join(map(repr, sources))}: give one"
            )
    return Variant(text, tuple(parts))


def words(text: str) -> list[str]:
    """Return the parts of a variant."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"variant {text!r} is incomplete: {str(error).lower()}") from None


def _part(word: str) -> VariantPart:
    kind, colon, value = word.partition(":")
    if not colon:
        likely = "pip" if re.search(r"[=<>~!]=|[<>]", word) else "env" if "=" in word else "git"
        also = f" or {f'path:{word}'!r}" if likely == "git" else ""
        raise UsageError(f"{word!r} is not part of a variant: did you mean {f'{likely}:{word}'!r}{also}?")
    if kind not in KINDS:
        # Escaped, so that the message stays on one line.
        raise unknown_name("part of a variant", ascii(kind)[1:-1], KINDS)
    value = value.strip() if kind != "env" else value
    if not value:
        raise UsageError(f"{word!r} has no value: give {kind}:{KINDS[kind].form}")
    return KINDS[kind].read(value)


@contextmanager
def prepared(
    variant: Variant,
    root: Path,
    listener: Listener,
    *,
    cache: Path,
    dependencies: bool = False,
    apart: bool = False,
    build: str = "",
    is_built: bool = False,
    hidden: Sequence[str] = (),
) -> Iterator[Prepared]:
    """Prepare a variant's code and settings, and clean up when the context ends.

    What lies in the caller's tree, and is tracked by git, comes from the same place of a commit or folder,
    see `import_roots.Trees`. The import roots are that folder's `src`, if it exists, and the folder itself.
    In a commit, it is the folder that the project of `root`, or DIR, is in the repository; after it comes
    `root` itself. What pip installs comes last.

    `is_built`: whether the caller's tree is built, too, if the variant has it. `hidden`: installed packages
    that cannot be imported, see `not_usable`.
    """
    root, cache = root.resolve(), real_path(cache)
    with ExitStack() as stack:
        side = Prepared(variant.text)
        preparation = Preparation(side, root, listener, cache, dependencies, apart, build, stack)
        for kind in KINDS.values():
            kind.prepare(variant.of(kind), preparation)
        if is_built and not side.has_code:
            Commit.prepare([Commit("HEAD", is_working_tree=True)], preparation)
        if not side.has_code:
            side.commit, side.dirty = state(root)
        places = {place.source: place for place in reversed(side.places)}  # the first of each folder
        side.places = tuple(reversed(places.values()))
        if hidden:
            side.environment = {**side.environment, HIDDEN: " ".join(hidden)}
        yield side


@contextmanager
def both(
    base: Variant,
    head: Variant,
    root: Path,
    listener: Listener,
    *,
    dependencies: bool = False,
    build: str = "",
) -> Iterator[tuple[Prepared, Prepared]]:
    """Prepare two sides, see `prepared`; what can be kept is in gnnbench's cache folder."""
    requirements = [[part.text for part in side.of(Requirement)] for side in (base, head)]
    is_built = bool(build) and any(part.folder is None for side in (base, head) for part in side.of(Commit))
    prepare = partial(prepared, root=root, listener=listener, cache=cache_folder(), dependencies=dependencies)
    prepare = partial(prepare, build=build, is_built=is_built, hidden=not_usable(requirements))
    with prepare(base) as first, prepare(head) as second:
        if note := other_builds(first.versions, second.versions):
            listener.say(note)
        yield first, second
