"""Verdicts in sentences, the same in terminals, pages and comments."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..ground import units
from ..judge.comparison import Agreement, Compared, Comparison
from ..judge.memory import MemoryChange
from ..judge.verdict import Judgement, Thresholds
from .document import effect

CHANGED = ("slower", "accepted", "faster")
"""Verdicts on a changed time, in display order."""
OTHER = "different output"
"""Shown instead of incomparable where the outputs differ."""
ORDER = ("slower", OTHER, "accepted", "faster", "same", "undecided", "incomparable", "ignored")
_PARTLY = "faster, outputs partly compared"
_UNKNOWN = ("undecided", "incomparable")
_OTHERS = ("accepted", "faster", _PARTLY, "same", "same code", *_UNKNOWN, "ignored")
"""All verdicts except slower, in the order of the headline."""
_ALL = {"same code": ("runs the same code", "run the same code"), "ignored": ("is ignored", "are ignored")}
"""Verbs of the headline if all benchmarks have this verdict and none fails."""


def verdict(row: Compared) -> str:
    """Return the verdict to show for a benchmark."""
    return OTHER if row.has_other_result else row.judgement.verdict


def word(row: Compared) -> str:
    """Return the verdict to count; faster benchmarks with partly compared outputs are counted separately."""
    is_partly = row.judgement.verdict == "faster" and row.results is not None and row.results.reservation
    return _PARTLY if is_partly else verdict(row)


def plural(count: int, verdict: str) -> str:
    """Return a verdict's form after a number; only `different output` has a plural."""
    return f"{verdict}s" if verdict == OTHER and count > 1 else verdict


def is_changed(row: Compared) -> bool:
    """Return whether the time, the memory or the output changed, accepted changes included."""
    memory, results = row.memory, row.results
    is_other = (memory is not None and memory.changed) or (results is not None and results.is_other)
    return is_other or row.judgement.verdict in CHANGED


@dataclass(frozen=True)
class Headline:
    """The main result."""

    said: str
    """The part that the exit code reports: `2 of 5 benchmarks are slower, 1 needs more memory`."""
    others: str
    """The other verdicts, counted: `1 faster, 2 same`. Empty if there are none."""

    @property
    def whole(self) -> str:
        """Both parts on one line."""
        return f"{self.said}; {self.others}" if self.others else self.said


def headline(rows: Sequence[Compared], effect: float | None = None, *, busy: bool = False) -> Headline:
    """Return the main result: failures if any, else what is undecided if anything, else no slowdown."""
    words = ["same code" if row.judgement.same_code else word(row) for row in rows]
    if not words:
        return Headline("No benchmark in the result", "")
    counts: Counter[str] = Counter(words)
    failed = (
        (counts["slower"], "is slower", "are slower"),
        (sum(row.has_other_result for row in rows), "has a different output", "have a different output"),
    )
    memory = sum(row.needs_more_memory for row in rows), "needs more memory", "need more memory"
    why = " (busy machine)" if busy else ""
    unknown = (
        (counts["undecided"], f"is undecided{why}", f"are undecided{why}"),
        (counts["incomparable"], "is incomparable", "are incomparable"),
    )
    others: tuple[str, ...] = _OTHERS
    if (main := _of_all(len(words), failed)) and memory[0]:
        main += f", {memory[0]} of the {len(words):,} {memory[1 if memory[0] == 1 else 2]}"
    main = main or _of_all(len(words), [memory])
    if not main and (main := _of_all(len(words), unknown)):
        others = tuple(word for word in _OTHERS if word not in _UNKNOWN)
    elif not main and len(counts) == 1 and words[0] in _ALL:
        main, others = every(len(words), *_ALL[words[0]]), ()
    elif not main:
        beyond = "beyond what is accepted" if counts["accepted"] else "found"
        main = f"No slowdown {beyond} in {units.count(len(words), 'benchmark')}"
    counted = (_counted(counts[word], word, effect, why) for word in others if counts[word])
    return Headline(main, ", ".join((*counted, *_excused(rows))))


def change(row: Compared) -> str:
    """Write the ratio of a benchmark and its verdict: `1.22x slower`, `1.25x faster`."""
    judgement = row.judgement
    if row.has_other_result:
        return OTHER
    ratio = 1 / judgement.ratio if judgement.ratio and judgement.verdict == "faster" else judgement.ratio
    return f"{units.ratio(ratio, changed=judgement.changed)} {judgement.verdict}".strip()


def shrunk(judgements: Iterable[Judgement], noun: str) -> list[str]:
    """Return a note if the variance of some judgements (one per `noun`) comes mostly from the others."""
    count = sum(judgement.shrunk for judgement in judgements)
    reason = "their variance between processes is mostly estimated from the other"
    return [f"{units.count(count, noun)} with few processes: {reason} {noun}s"] if count else []


def _of_all(total: int, parts: Iterable[tuple[int, str, str]]) -> str:
    """Count benchmarks: `2 of 5 benchmarks are slower, 1 needs more memory`. Empty if all counts are 0."""
    nonzero = [part for part in parts if part[0]]
    if not nonzero:
        return ""
    texts = [f"{count} {verb if count == 1 else verbs}" for count, verb, verbs in nonzero[1:]]
    count, verb, verbs = nonzero[0]
    first = f"{count} of {total:,} benchmarks {verb if count == 1 else verbs}"
    return ", ".join((every(total, verb, verbs) if count == total else first, *texts))


def _excused(rows: Sequence[Compared]) -> list[str]:
    """Count the changes of memory and outputs that do not fail the run."""
    memory = Counter(row.memory.verdict for row in rows if row.memory and row.memory.changed)
    failing = sum(row.needs_more_memory for row in rows)
    counts = {
        "more memory (excused)": memory["more memory"] - failing,
        "less memory": memory["less memory"],
        "different output (excused)": sum(
            row.results is not None and row.results.is_other and not row.results.fails for row in rows
        ),
    }
    return [f"{count} {what}" for what, count in counts.items() if count]


def _counted(count: int, word: str, effect: float | None, why: str) -> str:
    if word == "same code":
        return f"{count} {'runs' if count == 1 else 'run'} the same code"
    within = f" within {units.fraction(effect)}" if word == "same" and effect is not None else ""
    return f"{count} {word}{within}{why if word == 'undecided' else ''}"


def every(count: int, verb: str, verbs: str) -> str:
    """Write the number of benchmarks and a verb: `All 3 benchmarks are`."""
    return f"The one benchmark {verb}" if count == 1 else f"All {count:,} benchmarks {verbs}"


def memory_sentence(memory: MemoryChange) -> str:
    """Write a verdict and both peaks: `more memory: 8 MiB excluding inputs, 4 MiB in the base (2.00x)`."""
    has_both = memory.base_bytes and memory.head_bytes
    ratio = f" ({units.ratio(memory.head_bytes / memory.base_bytes, 'less')})" if has_both else ""
    head, base = units.size(memory.head_bytes), units.size(memory.base_bytes)
    excused = f", {memory.excused}" if memory.excused else ""
    return f"{memory.verdict}: {head} excluding inputs, {base} in the base{ratio}{excused}"


def memory_notes(memory: MemoryChange | None) -> tuple[str, ...]:
    """Return the note for verdict tables. Empty if the memory did not change."""
    return (memory_sentence(memory),) if memory and memory.changed else ()


def result_notes(agreement: Agreement | None) -> tuple[str, ...]:
    """Return the note on outputs. Empty for failures, which the verdict's reason states."""
    if agreement is None:
        return ()
    if agreement.excused:
        return (f"a different output, {agreement.excused}: {agreement.reason}",)
    if agreement.reservation:
        return (f"outputs partly compared: {agreement.reservation}",)
    if agreement.status == "not compared":
        return (f"outputs not compared: {agreement.reason}",)
    return (f"outputs {agreement.reason}",) if agreement.reason and not agreement.is_other else ()


def detectable(judgement: Judgement) -> float | None:
    """Return the minimum detectable effect. Returns None if the row is decided, or the effect unknown."""
    return judgement.minimum_detectable_effect if judgement.verdict == "undecided" else None


def reasons(judgement: Judgement) -> list[str]:
    """Return why a row is ignored or has no verdict by time. Empty if its numbers explain the verdict."""
    if judgement.verdict == "ignored":
        return [f"ignored: {judgement.reason}"]
    excludes_one = (judgement.low or 0.0) > 1 or (judgement.high or 1.0) < 1
    unclear = judgement.verdict == "undecided" and excludes_one
    return [judgement.reason] if unclear or not judgement.judged else []


def effects(thresholds: Thresholds, names: Iterable[str]) -> str:
    """Write the minimum effect: `3.0%`, or `3.0% (10% by rule 2 of pyproject.toml)`."""
    rules = thresholds.rules
    exceptions = dict.fromkeys(rule for name in names if (rule := rules.rule("effect", name)))
    texts = [f"{units.fraction(rule.effect or 0.0)} by {rules.place(rule)}" for rule in exceptions]
    return units.fraction(thresholds.effect) + (f" ({', '.join(texts)})" if texts else "")


def result(comparison: Comparison, seconds: float | None = None, *, busy: bool = False) -> str:
    """Return the last lines in a terminal: the main result, and what to do."""
    took = "" if seconds is None else f"; {units.seconds(seconds)}"
    lines = [f"{headline(comparison.rows, busy=busy).whole}{took}"]
    if any(row.is_worse for row in comparison.rows):
        lines.append("to accept an intended change: gnnbench accept --help")
    return "\n".join(lines)


def sentence(row: Compared) -> str:
    """Write a benchmark's verdict and its reason on one line."""
    judgement = row.judgement
    if row.has_other_result:
        return "; ".join((judgement.reason, *memory_notes(row.memory), *row.notes))
    text = word(row)
    if judgement.low is not None and judgement.ratio is not None:
        ratio = units.ratio(judgement.ratio, "less", 3, changed=judgement.changed)
        text += f": {ratio} the baseline's time ({units.interval(judgement.low, judgement.high, 3)})"
    if row.seconds is not None and judgement.ratio:
        base = units.seconds(row.seconds / judgement.ratio)
        text += f", {units.seconds(row.seconds)} now, {base} in the baseline"
    pairs = units.count(judgement.head_processes, "pair")
    processes = f"{judgement.base_processes} in the baseline, {judgement.head_processes} now"
    text += f"; {judgement.reason}; {f'{pairs} of processes' if row.counts else f'processes: {processes}'}"
    if (least := detectable(judgement)) is not None:
        text += f"; minimum detectable effect: {effect(least)}"
    memory = (*memory_notes(row.memory), *result_notes(row.results))
    # The verdict that fails comes first.
    first = (*memory, text) if row.needs_more_memory and judgement.verdict != "slower" else (text, *memory)
    return "; ".join((*first, *row.notes))
