"""The main result of a comparison as one sentence, the same in terminals, pages and comments."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .. import units
from ..compare.memory import MemoryChange
from ..compare.verdict import Judgement

_DECIDED = ("accepted", "faster", "same")
_OTHERS = (*_DECIDED, "undecided", "incomparable", "ignored")
"""All verdicts but slower, in the order of a sentence."""


class Judged(Protocol):
    """A benchmark, as `Compared` or in a page."""

    @property
    def judgement(self) -> Judgement | None:
        """None: it has no verdict, and is not counted."""

    @property
    def memory(self) -> MemoryChange | None:
        """None: there is no verdict on its memory."""


@dataclass(frozen=True)
class Headline:
    """The main result."""

    said: str
    """What the exit code tells too: `2 of 5 benchmarks are slower, 1 needs more memory`."""
    others: str
    """The other verdicts, counted: `1 faster, 2 same`; empty: there are none."""

    @property
    def whole(self) -> str:
        """Both, on one line."""
        return f"{self.said}: {self.others}" if self.others else self.said


def headline(
    rows: Sequence[Judged], shared: Judgement | None = None, effect: float | None = None
) -> Headline:
    """Return the main result: what fails; or else what is known not to, and what is not known.

    Args:
        rows: the benchmarks; those without a verdict are not counted.
        shared: the verdict on all benchmarks together, if a drift was removed.
        effect: minimum effect of interest, to name it.
    """
    words = [one.judgement.verdict for one in rows if one.judgement]
    if not words:
        return Headline("No benchmark in the result", "")
    counts: Counter[str] = Counter(words)
    more = sum(one.memory is not None and one.memory.fails for one in rows)
    said = _failed(len(words), counts["slower"], more)
    others = ", ".join(_counted(counts[word], word, effect) for word in _OTHERS if counts[word])
    if not said and all(one.judgement.same_code for one in rows if one.judgement):
        said, others = f"{_all(len(words), 'runs', 'run')} the same code", ""
    elif not said and counts["ignored"] == len(words):
        said, others = f"{_all(len(words), 'is', 'are')} ignored", ""
    elif not said:
        said = _not_failed(len(words), counts)
    if shared and shared.verdict != "same":
        said = f"All benchmarks together: {_together(shared)}; relative to that, {said[0].lower()}{said[1:]}"
    return Headline(said, others)


def times(word: str, factor: float) -> str:
    """Write a ratio of times: `1.10x slower`, `1.25x faster`."""
    if word in ("slower", "accepted"):
        return f"{units.ratio(factor, '', changed=True)} slower"
    return f"{units.ratio(1 / factor, '', changed=True)} faster"


def _failed(total: int, slower: int, more: int) -> str:
    """Say how many are slower or need more memory; empty: none."""
    of = f"of {units.count(total, 'benchmark')}"
    needs = "needs more memory" if more == 1 else "need more memory"
    if slower:
        return f"{slower} {of} {'is' if slower == 1 else 'are'} slower" + (
            f", {more} {needs}" if more else ""
        )
    return f"{more} {of} {needs}" if more else ""


def _not_failed(total: int, counts: Counter[str]) -> str:
    decided = sum(counts[word] for word in _DECIDED)
    if not decided:
        return (
            "The one benchmark could not be decided"
            if total == 1
            else f"None of {total:,} benchmarks could be decided"
        )
    beyond = "beyond what is accepted" if counts["accepted"] else "found"
    among = f"{decided} of " if decided < total else ""
    return f"No slowdown {beyond} in {among}{units.count(total, 'benchmark')}"


def _counted(count: int, word: str, effect: float | None) -> str:
    within = f" within {units.fraction(effect)}" if word == "same" and effect is not None else ""
    return f"{count} {word}{within}"


def _together(shared: Judgement) -> str:
    if shared.ratio is not None and shared.verdict in ("slower", "faster"):
        return times(shared.verdict, shared.ratio)
    return shared.verdict


def _all(count: int, one: str, several: str) -> str:
    return f"The one benchmark {one}" if count == 1 else f"All {count:,} benchmarks {several}"
