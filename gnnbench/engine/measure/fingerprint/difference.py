"""The differences between two fingerprints, by name."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from ...ground import units
from .fingerprint import Fingerprint

_SHOWN = 3
"""Largest number of names in a sentence."""
FRAMES = {
    "functions": "{}",
    "values": "different values ({})",
    "libraries": "different libraries ({})",
    "settings": "different settings ({})",
    "work": "different data ({})",
}
"""How a sentence words a difference, for each kind of parts. The likeliest cause comes first."""
_LOCALS = ".<locals>."
"""Part of the qualified name of a function that is defined inside another function."""


@dataclass(frozen=True)
class Difference:
    """Names of the parts that differ between two fingerprints. Parts of only one side come first."""

    functions: tuple[str, ...] = ()
    """Python functions by `module:qualified.name`: their code differs, or only one side runs them."""
    values: tuple[str, ...] = ()
    """Globals and attributes that the functions may read."""
    libraries: tuple[str, ...] = ()
    """Native libraries, by file name."""
    work: tuple[str, ...] = ()
    """Names in `Fingerprint.work`."""
    settings: tuple[str, ...] = ()
    """Settings; environment variables begin with `$`."""
    base_only: tuple[str, ...] = ()
    """All names above that only the base has."""
    head_only: tuple[str, ...] = ()

    @classmethod
    def between(cls, base: Fingerprint, head: Fingerprint) -> Self:
        before, after = _parts(base), _parts(head)
        names = {kind: _differing(before[kind], after[kind]) for kind in FRAMES}
        base_only = tuple(name for kind in FRAMES for name in before[kind] if name not in after[kind])
        head_only = tuple(name for kind in FRAMES for name in after[kind] if name not in before[kind])
        return cls(**names, base_only=base_only, head_only=head_only)

    def __bool__(self) -> bool:
        return any(getattr(self, kind) for kind in FRAMES)

    def side_of(self, name: str) -> str:
        """Return `base` or `head` if only that side has a part. Returns an empty string if both have it."""
        return "base" if name in self.base_only else "head" if name in self.head_only else ""

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the parts of a kind that differ, the likeliest cause first.

        First come the parts that both sides have. Among these, a callee comes before its caller. Then come
        parts of the head only, and then parts of the base only, in the order of their first call. A function
        that is defined inside of a differing function is left out.
        """
        names: tuple[str, ...] = getattr(self, kind)
        outer = [name for name in names if _LOCALS not in name or name.partition(_LOCALS)[0] not in names]
        changed, of_head, of_base = (
            [name for name in outer if self.side_of(name) == side] for side in ("", "head", "base")
        )
        if kind == "functions":  # functions are in the order of their first call
            changed.reverse()
        return (*changed, *of_head, *of_base)

    def sentence(self) -> str:
        """Return a sentence about the first kind that differs, such as `GCNConv.forward and 3 more`."""
        kind = next(kind for kind in FRAMES if getattr(self, kind))
        names = self.names(kind)
        if kind == "functions":
            sides = map(self.side_of, names)
            return units.listed([*map(run_by, short_names(names), sides)], _SHOWN)
        return f"same functions, {FRAMES[kind].format(units.listed(names, _SHOWN))}"


def run_by(name: str, side: str) -> str:
    """Return a function's name, followed by the side that runs it if only one side does."""
    return f"{name} (run only by {side})" if side else name


def short_names(functions: Iterable[str]) -> tuple[str, ...]:
    """Return qualified names without their modules, unless two functions have the same qualified name."""
    pairs = [(name, name.partition(":")[2]) for name in functions]
    counts = Counter(short for _, short in pairs)
    return tuple(short if counts[short] == 1 else name for name, short in pairs)


def _differing(base: Mapping[str, str], head: Mapping[str, str]) -> tuple[str, ...]:
    """Return names with different hashes. Names of only one side come first."""
    one_sided = [name for name in (*base, *head) if (name in base) != (name in head)]
    return (*one_sided, *(name for name in head if name in base and base[name] != head[name]))


def _parts(fingerprint: Fingerprint) -> dict[str, Mapping[str, str]]:
    """Return the hashes of the parts of each kind, by name."""
    return {kind: getattr(fingerprint, "set_to" if kind == "settings" else kind) for kind in FRAMES}
