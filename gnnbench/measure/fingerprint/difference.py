"""What differs between the fingerprints of two sides, by name."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from .fingerprint import Fingerprint

_SHOWN = 3
"""Names in a line."""


@dataclass(frozen=True)
class Difference:
    """Names of the parts that differ between two fingerprints; those on one side only come first."""

    functions: tuple[str, ...] = ()
    """Python functions, as `module:qualified.name`."""
    values: tuple[str, ...] = ()
    """Globals and attributes that the functions may read."""
    libraries: tuple[str, ...] = ()
    """Native libraries."""
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
        pairs = (
            (base.functions, head.functions),
            (base.values, head.values),
            (base.libraries, head.libraries),
            (base.work, head.work),
            (base.set_to, head.set_to),
        )
        base_only = tuple(name for ours, theirs in pairs for name in ours if name not in theirs)
        head_only = tuple(name for ours, theirs in pairs for name in theirs if name not in ours)
        names = [*(_differing(*pair) for pair in pairs), base_only, head_only]
        return cls(*names)

    def __bool__(self) -> bool:
        """Tell whether anything differs."""
        return any((self.functions, self.values, self.libraries, self.work, self.settings))

    def main(self) -> tuple[str, tuple[str, ...]]:
        """Return a label and the names of the functions that differ, or else of the first kind that does.

        The label is empty for functions; something must differ.
        """
        kinds = {
            "values": self.values,
            "libraries": self.libraries,
            "settings": self.settings,
            "data": self.work,
        }
        if self.functions:
            return "", short_names(self.functions)
        return next((f"same functions, other {kind}", names) for kind, names in kinds.items() if names)

    def sentence(self) -> str:
        """Return what differs in a line.

        `GCNConv.forward, gcn_norm, propagate and 3 more`, or `same functions, other settings (threads)`.
        """
        label, names = self.main()
        return f"{label} ({_listed(names)})" if label else _listed(names)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form, see docs/formats.md."""
        return {kind: list(names) for kind, names in asdict(self).items()}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """Read what `as_json` returned.

        Raises:
            TypeError: a field has another type or name.
        """
        return cls(**{kind: tuple(map(str, names)) for kind, names in saved.items()})


def short_names(functions: Iterable[str]) -> tuple[str, ...]:
    """Return qualified names without their modules, where these are not needed to tell them apart."""
    names = tuple(functions)
    alike = Counter(name.partition(":")[2] for name in names)
    return tuple(short if alike[short := name.partition(":")[2]] == 1 else name for name in names)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _differing(base: Mapping[str, str], head: Mapping[str, str]) -> tuple[str, ...]:
    one_sided = [name for name in (*base, *head) if (name in base) != (name in head)]
    return (*one_sided, *(name for name in head if name in base and base[name] != head[name]))
