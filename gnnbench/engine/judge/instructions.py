"""How the number of instructions of one call differs between two sides, and in which functions."""

from dataclasses import dataclass
from typing import Self

from ..ground import units
from ..measure.counter_changes import CounterChange, between
from ..measure.instructions import Instructions

NOISE = 0.003
"""Two processes that run the same code differ by less than this fraction in at least 95 % of cases."""
_LEAST_SHARE = 0.1
"""Functions with a smaller share of the total change are not named."""
_MOST_NAMED = 3
_LEAST_MULTIPLE = 10
"""An increase of at least this factor is written as a multiple."""


@dataclass(frozen=True)
class InstructionChange:
    """The numbers of instructions of one call on both sides."""

    base: int
    head: int
    noise: float
    """A change up to this fraction may be noise."""
    functions: tuple[CounterChange, ...] = ()
    """The C functions whose numbers of instructions changed most, named `package:function`."""

    @classmethod
    def between(cls, base: Instructions, head: Instructions) -> Self:
        """Compare the counts of two sides."""
        least = max(_LEAST_SHARE * abs(head.total - base.total), 1)
        is_known = base.functions and head.functions
        changes = between(base.functions, head.functions) if is_known else ()
        functions = [change for change in changes if abs(change.head - change.base) >= least]
        noise = round(max(NOISE, base.spread, head.spread), 6)
        return cls(base.total, head.total, noise, tuple(functions[:_MOST_NAMED]))

    @property
    def fraction(self) -> float:
        """The change as a fraction of the base's number."""
        return self.head / max(self.base, 1) - 1

    def __bool__(self) -> bool:
        """Tell whether the number of instructions changed by more than noise."""
        return abs(self.fraction) > self.noise

    def sentence(self) -> str:
        """Return what changed, and where: `+2.3% instructions (92 M to 94 M): +2 M (+18%) in spmm (c10)`."""
        is_multiple = self.fraction >= _LEAST_MULTIPLE
        change = f"{self.fraction + 1:,.0f} times the" if is_multiple else f"{self.fraction:+.1%}"
        text = f"{change} instructions ({units.amount(self.base)} to {units.amount(self.head)})"
        if not self:
            return f"{text}, within noise"
        places = ", ".join(map(_function_change, self.functions))
        return f"{text}: {places}" if places else text


def _function_change(change: CounterChange) -> str:
    """Return one function's change: `+2.1 M (+18%) in spmm_cpu (torch_sparse)`."""
    package, _, function = change.name.partition(":")
    delta = change.head - change.base
    relative = f" ({delta / change.base:+.0%})" if change.base and change.head else ""
    return f"{'+' if delta > 0 else '-'}{units.amount(abs(delta))}{relative} in {function} ({package})"
