"""A built side whose process ends as soon as it executes one of some functions of compiled code."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path

from ...measure.fingerprint.disassembly import set_traps
from ...measure.fingerprint.libraries import BUILDS
from .builds import copied
from .import_roots import Place
from .prepare import Prepared


@contextmanager
def trapped(side: Prepared, functions: Mapping[str, Collection[str]]) -> Iterator[Prepared]:
    """Return copies of a side's builds; `functions`: names by library's file name, see `disassembly`."""
    builds = [build for place in side.places if (build := Path(place.tree).parent).parent.name == BUILDS]
    with ExitStack() as stack:
        copies = {build: stack.enter_context(copied(build)) for build in builds}
        for folder in copies.values():
            for library, names in functions.items():
                for file in folder.rglob(library):
                    set_traps(file, names)

        def moved(path: Path) -> Path:
            build = next((build for build in builds if path.is_relative_to(build)), None)
            return path if build is None else copies[build] / path.relative_to(build)

        def moved_place(place: Place) -> Place:
            found = copy(place)
            found.tree = str(moved(Path(place.tree)))
            return found

        trees, places = tuple(map(moved, side.trees)), tuple(map(moved_place, side.places))
        yield replace(side, trees=trees, places=places)
