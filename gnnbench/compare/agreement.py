"""Whether both sides of a comparison compute the same."""

from dataclasses import dataclass
from typing import Literal

from ..codec import NotNegative

Status = Literal["equal", "close", "differ", "not compared"]


@dataclass(frozen=True)
class Agreement:
    """How the results of one benchmark agree on both sides."""

    status: Status
    """`close`: they differ by no more than rounding may change."""
    reason: str = ""
    """Where and how they differ, or why they were not compared; empty: nothing more is to be said."""
    error: NotNegative | None = None
    """Of results that are close, the largest error, in units in the last place of the largest value."""
    only_repeated: bool = False
    """Whether the head does less for inputs that it has seen, and the base does not: its time says nothing
    about new ones."""
    excused: str | None = None
    """Why another result does not fail: it is accepted; None: nothing excuses it."""

    @property
    def is_other(self) -> bool:
        """Whether the times cannot be compared: the sides return other results, or one keeps them."""
        return self.status == "differ" or self.only_repeated

    @property
    def fails(self) -> bool:
        """Whether that is so, and nothing excuses it."""
        return self.is_other and self.excused is None


def not_compared(reason: str) -> Agreement:
    """Return that results were not compared, and why."""
    return Agreement("not compared", reason)
