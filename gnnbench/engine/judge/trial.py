"""One benchmark of a run, and all that is known of it."""

from dataclasses import dataclass, field

from .visit import Inspections, NotTimed, Size


@dataclass(eq=False)
class Trial:
    """A benchmark that is compared on both sides."""

    name: str
    """Its test id."""
    inspections: Inspections | None = None
    """What a call does on both sides. None: it was not inspected."""
    not_timed: NotTimed | None = None
    """Why it is not timed. None if it is, or if that is not known yet."""
    from_files: bool = False
    """Whether files show that both sides run the same code, or skip it."""
    size: Size | None = None
    """That of its blocks, the same in all pairs; the first visit chooses it."""
    has_several_calls: bool = False
    """Whether the test calls `benchmark` more than once; the first call is timed."""
    head_logs: list[float] = field(default_factory=list)
    """The log of the head's time in nanoseconds, in each pair."""

    contradiction: str | None = None
    """Why pairs of two processes contradict its verdict. None if they do not, or were not run."""

    @property
    def is_inspected(self) -> bool:
        """Whether it is known what a call does, or why that cannot be known."""
        return self.inspections is not None or self.not_timed is not None
