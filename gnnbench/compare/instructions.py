"""How the instructions of one call differ between two sides, and in which functions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from ..measure.counter_changes import CounterChange, between
from ..measure.instructions.counting import Instructions

NOISE = 0.003
"""Two processes that run the same code differ by less than this fraction in at least 95 % of cases."""
_LEAST = 0.1
"""Functions whose change is a smaller fraction of the whole change are not named."""
_MOST_NAMED = 3


@dataclass(frozen=True)
class InstructionChange:
    """One benchmark on both sides."""

    base: Instructions
    head: Instructions

    @property
    def fraction(self) -> float:
        """The change, as a fraction of the base."""
        return self.head.total / max(self.base.total, 1) - 1

    @property
    def noise(self) -> float:
        """A smaller change says nothing."""
        return max(NOISE, self.base.spread, self.head.spread)

    def __bool__(self) -> bool:
        """Tell whether the number of instructions changed by more than noise."""
        return abs(self.fraction) > self.noise

    def functions(self) -> tuple[CounterChange, ...]:
        """Return the functions of C that changed most, by `package:function`."""
        return self._most(self.base.functions, self.head.functions)

    def frames(self) -> tuple[CounterChange, ...]:
        """Return the Python functions that changed most, by `module:qualified.name`."""
        return self._most(self.base.frames or {}, self.head.frames or {})

    def _most(self, base: Mapping[str, int], head: Mapping[str, int]) -> tuple[CounterChange, ...]:
        if not base or not head:
            return ()
        least = _LEAST * abs(self.head.total - self.base.total)
        return _ranked(one for one in between(base, head) if abs(one.head - one.base) >= max(least, 1))

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form of docs/formats.md."""
        return {"base": self.base.as_json(), "head": self.head.as_json()}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """Read what `as_json` returned."""
        return cls(Instructions.from_json(saved["base"]), Instructions.from_json(saved["head"]))


def _ranked(changes: Iterable[CounterChange]) -> tuple[CounterChange, ...]:
    return tuple(sorted(changes, key=lambda one: (-abs(one.head - one.base), one.name))[:_MOST_NAMED])
