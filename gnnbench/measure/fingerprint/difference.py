"""What differs between the fingerprints of two sides, by name."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from ... import units
from .fingerprint import Fingerprint

_SHOWN = 3
"""Names in a line."""
FRAMES = {
    "functions": "{}",
    "values": "other values ({})",
    "libraries": "other libraries ({})",
    "settings": "other settings ({})",
    "work": "other data ({})",
}
"""How a sentence names the parts of each kind, the likeliest cause first."""


@dataclass(frozen=True)
class Difference:
    """Names of the parts that differ between two fingerprints; those on one side only come first."""

    functions: tuple[str, ...] = ()
    """Python functions, as `module:qualified.name`: their code differs, or only one side runs them."""
    values: tuple[str, ...] = ()
    """Globals and attributes that the functions may read."""
    libraries: tuple[str, ...] = ()
    """Native libraries, by file name."""
    work: tuple[str, ...] = ()
    """What the functions do, and on what: names in `Fingerprint.work`."""
    settings: tuple[str, ...] = ()
    """Settings; environment variables begin with `$`."""
    base_only: tuple[str, ...] = ()
    """Those of all these names that only the base has."""
    head_only: tuple[str, ...] = ()

    @classmethod
    def between(cls, base: Fingerprint, head: Fingerprint) -> Self:
        """Compare two fingerprints."""
        ours, theirs = _parts(base), _parts(head)
        names = {kind: _differing(ours[kind], theirs[kind]) for kind in ours}
        base_only = tuple(name for kind in ours for name in ours[kind] if name not in theirs[kind])
        head_only = tuple(name for kind in ours for name in theirs[kind] if name not in ours[kind])
        return cls(**names, base_only=base_only, head_only=head_only)

    def __bool__(self) -> bool:
        """Tell whether anything differs."""
        return any(getattr(self, kind) for kind in FRAMES)

    def side_of(self, name: str) -> str:
        """Return `base` or `head` if only this side has a part; empty: both have it."""
        return "base" if name in self.base_only else "head" if name in self.head_only else ""

    def main(self) -> tuple[str, tuple[str, ...]]:
        """Return the names of the functions that differ, or else of the first kind that does.

        Something must differ. Functions that only one side runs come last: another part may be why.

        Returns:
            A sentence with `{}` in place of the names, and the names.
        """
        if self.functions:
            sides = map(self.side_of, self.functions)
            named = zip(sides, short_names(self.functions), strict=True)
            ordered = sorted(named, key=lambda one: ("", "head", "base").index(one[0]))
            return "{}", tuple(run_by(name, side) for side, name in ordered)
        kind = next(kind for kind in FRAMES if getattr(self, kind))
        return f"same functions, {FRAMES[kind]}", getattr(self, kind)

    def sentence(self) -> str:
        """Return what differs in a line.

        `GCNConv.forward, gcn_norm, propagate and 3 more`, or `same functions, other settings (threads)`.
        """
        text, names = self.main()
        return text.format(units.listed(names, _SHOWN))


def run_by(name: str, side: str) -> str:
    """Return the name of a function with the side that alone runs it; empty: both do."""
    return f"{name} (run only by {side})" if side else name


def short_names(functions: Iterable[str]) -> tuple[str, ...]:
    """Return qualified names without their modules, where these are not needed to tell them apart."""
    names = tuple(functions)
    alike = Counter(name.partition(":")[2] for name in names)
    return tuple(short if alike[short := name.partition(":")[2]] == 1 else name for name in names)


def _differing(base: Mapping[str, str], head: Mapping[str, str]) -> tuple[str, ...]:
    one_sided = [name for name in (*base, *head) if (name in base) != (name in head)]
    return (*one_sided, *(name for name in head if name in base and base[name] != head[name]))


def _parts(one: Fingerprint) -> dict[str, Mapping[str, str]]:
    """Return the hashes of the parts of each kind, by name."""
    return {
        "functions": one.functions,
        "values": one.values,
        "libraries": one.libraries,
        "work": one.work,
        "settings": one.set_to,
    }
