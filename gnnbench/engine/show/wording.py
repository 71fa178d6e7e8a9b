"""Verdicts in sentences, the same in terminals, pages and comments."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..drive.result import Result
from ..ground import units
from ..judge.comparison import Agreement, Compared, Comparison
from ..judge.memory import MemoryChange
from ..judge.verdict import Judgement, Thresholds
from .document import Column, effect

CHANGED = ("slower", "accepted", "faster")
"""Verdicts on a changed time, in display order."""
OTHER = "different output"
"""Shown instead of `incomparable` if the outputs differ."""
ORDER = ("slower", OTHER, "accepted", "faster", "same", "undecided", "incomparable", "ignored")
_PARTLY = "faster (outputs partly compared)"
_UNKNOWN = ("undecided", "incomparable")
_OTHERS = ("accepted", "faster", _PARTLY, "same", "same code", *_UNKNOWN, "ignored")
"""The verdicts that the second part of a headline counts, in order."""
_MORE = "more memory"
_VERBS = {
    "slower": ("is slower", "are slower"),
    OTHER: ("has a different output", "have a different output"),
    _MORE: ("needs more memory", "need more memory"),
    "undecided": ("is undecided", "are undecided"),
    "incomparable": ("is incomparable", "are incomparable"),
    "same code": ("runs the same code", "run the same code"),
    "ignored": ("is ignored", "are ignored"),
}
"""The singular and the plural verb of each verdict that may begin a headline."""


def verdict(row: Compared) -> str:
    """Return the verdict that tables and pages show for a benchmark."""
    return OTHER if row.has_different_output else row.judgement.verdict


def _counted_as(row: Compared) -> str:
    """Return the verdict under which a headline counts a benchmark; `same code` is a verdict of its own."""
    if row.judgement.same_code:
        return "same code"
    is_partly = row.judgement.verdict == "faster" and row.results is not None and row.results.reservation
    return _PARTLY if is_partly else verdict(row)


def plural(count: int, verdict: str) -> str:
    """Return a verdict as written after a number. Only `different outputs` has a plural."""
    return f"{verdict}s" if verdict == OTHER and count > 1 else verdict


def is_changed(row: Compared) -> bool:
    """Return whether the time, the memory or the output changed, even if the change is accepted."""
    memory, results = row.memory, row.results
    has_other_change = (memory and memory.changed) or (results and results.is_different)
    return bool(has_other_change) or row.judgement.verdict in CHANGED


@dataclass(frozen=True)
class Headline:
    """The main result."""

    main: str
    """What the exit code depends on: `2 of 5 benchmarks are slower, 1 needs more memory`."""
    others: str
    """Counts of the other verdicts: `1 faster, 2 same`. Empty if there are none."""

    @property
    def text(self) -> str:
        return f"{self.main}; {self.others}" if self.others else self.main


def headline(rows: Sequence[Compared], effect: float | None = None, *, busy: bool = False) -> Headline:
    """Return the headline: what failed, or else what has no verdict, or else that no benchmark is slower."""
    if not rows:
        return Headline("The result has no benchmarks", "")
    total, counts = len(rows), Counter(map(_counted_as, rows))
    memory = sum(row.needs_more_memory for row in rows)
    reason = " (busy machine)" if busy else ""
    others: Sequence[str] = _OTHERS
    if counts["slower"] or counts[OTHER]:
        main = _clauses(counts, ("slower", OTHER), total)
        main += f", {memory} of the {total:,} {_VERBS[_MORE][memory != 1]}" if memory else ""
    elif memory:
        main = _clauses({_MORE: memory}, (_MORE,), total)
    elif counts["undecided"] or counts["incomparable"]:
        main = _clauses(counts, _UNKNOWN, total, reason)
        others = [verdict for verdict in _OTHERS if verdict not in _UNKNOWN]
    elif len(counts) == 1 and (verbs := _VERBS.get(next(iter(counts)))):
        main, others = all_benchmarks(total, *verbs), ()
    else:
        beyond = "beyond what is accepted" if counts["accepted"] else "found"
        main = f"No slowdown {beyond} in {units.count(total, 'benchmark')}"
    texts = (_count(counts[verdict], verdict, effect, reason) for verdict in others if counts[verdict])
    return Headline(main, ", ".join((*texts, *_excused(rows))))


def change(row: Compared) -> str:
    """Return a benchmark's ratio and verdict, such as `1.22x slower`, or `different output`."""
    judgement = row.judgement
    if row.has_different_output:
        return OTHER
    ratio = 1 / judgement.ratio if judgement.ratio and judgement.verdict == "faster" else judgement.ratio
    return f"{units.ratio(ratio, changed=judgement.changed)} {judgement.verdict}".strip()


def pooling_note(judgements: Iterable[Judgement], noun: str) -> list[str]:
    """Return a note if the variance of some judgements (each on a `noun`) mostly comes from the others."""
    count = sum(judgement.shrunk for judgement in judgements)
    reason = "their variance between processes is mostly estimated from the other"
    return [f"{units.count(count, noun)} with few processes: {reason} {noun}s"] if count else []


def _clauses(counts: Mapping[str, int], verdicts: Iterable[str], total: int, reason: str = "") -> str:
    """Return how many benchmarks have each verdict: `2 of 5 benchmarks are slower, 1 is undecided`."""
    clauses: list[str] = []
    for verdict in verdicts:
        if count := counts[verdict]:
            verb, verbs = (f"{text}{reason if verdict == 'undecided' else ''}" for text in _VERBS[verdict])
            start = f"{count}" if clauses else f"{count} of {total:,} benchmarks"
            clause = f"{start} {verb if count == 1 else verbs}"
            clauses.append(all_benchmarks(total, verb, verbs) if count == total else clause)
    return ", ".join(clauses)


def _excused(rows: Sequence[Compared]) -> list[str]:
    """Return counts of the changes of memory and outputs that do not fail the run."""
    memory = Counter(row.memory.verdict for row in rows if row.memory and row.memory.changed)
    failing = sum(row.needs_more_memory for row in rows)
    counts = {
        "more memory (excused)": memory["more memory"] - failing,
        "less memory": memory["less memory"],
        "different output (excused)": sum(
            row.results is not None and row.results.is_different and not row.results.fails for row in rows
        ),
    }
    return [f"{count} {change}" for change, count in counts.items() if count]


def _count(number: int, verdict: str, effect: float | None, reason: str) -> str:
    """Return a number of benchmarks and their verdict: `2 same within 3.0%`, `1 undecided (busy machine)`."""
    if verdict == "same code":
        return same_code(number)
    within = f" within {units.fraction(effect)}" if verdict == "same" and effect is not None else ""
    return f"{number} {verdict}{within}{reason if verdict == 'undecided' else ''}"


def same_code(count: int) -> str:
    """Return how many benchmarks run the same code: `31 run the same code`."""
    return f"{count} {_VERBS['same code'][count != 1]}"


def all_benchmarks(count: int, verb: str, verbs: str) -> str:
    return f"The one benchmark {verb}" if count == 1 else f"All {count:,} benchmarks {verbs}"


def memory_sentence(memory: MemoryChange) -> str:
    """Return the verdict on memory, and the peaks: `more memory: 8 MiB excluding inputs, ... in the base`."""
    has_both = memory.base_bytes and memory.head_bytes
    ratio = f" ({units.ratio(memory.head_bytes / memory.base_bytes, 'less')})" if has_both else ""
    head, base = units.size(memory.head_bytes), units.size(memory.base_bytes)
    excused = f", {memory.excused}" if memory.excused else ""
    return f"{memory.verdict}: {head} excluding inputs, {base} in the base{ratio}{excused}"


def memory_notes(memory: MemoryChange | None) -> tuple[str, ...]:
    """Return the note on memory. Empty if the memory did not change."""
    return (memory_sentence(memory),) if memory and memory.changed else ()


def result_notes(agreement: Agreement | None) -> tuple[str, ...]:
    """Return the note on outputs. Empty if they are equal, or if the verdict says that they differ."""
    if agreement is None:
        return ()
    if agreement.excused:
        return (f"a different output, {agreement.excused}: {agreement.reason}",)
    if agreement.reservation:
        return (f"outputs partly compared: {agreement.reservation}",)
    if agreement.status == "not compared":
        return (f"outputs not compared: {agreement.reason}",)
    return (f"outputs {agreement.reason}",) if agreement.reason and not agreement.is_different else ()


def detectable(judgement: Judgement) -> float | None:
    """Return the minimum detectable effect of an undecided benchmark. None for others, or if unknown."""
    return judgement.minimum_detectable_effect if judgement.verdict == "undecided" else None


def reasons(judgement: Judgement) -> list[str]:
    """Return why a benchmark has no clear verdict. Empty if the numbers in its row explain the verdict."""
    if judgement.verdict == "ignored":
        return [f"ignored: {judgement.reason}"]
    excludes_one = (judgement.low or 0.0) > 1 or (judgement.high or 1.0) < 1
    unclear = judgement.verdict == "undecided" and excludes_one
    return [judgement.reason] if unclear or not judgement.judged else []


def minimum_effect(thresholds: Thresholds, names: Iterable[str]) -> str:
    """Return the minimum effect of interest as text: `3.0%`, `3.0% (10% by rule 2 of pyproject.toml)`."""
    rules = thresholds.rules
    exceptions = dict.fromkeys(rule for name in names if (rule := rules.rule("effect", name)))
    texts = [f"{units.fraction(rule.effect or 0.0)} by {rules.place(rule)}" for rule in exceptions]
    return units.fraction(thresholds.effect) + (f" ({', '.join(texts)})" if texts else "")


def legend(columns: Iterable[Column], result: Result | None) -> list[str]:
    """Return the meaning of each column, with the levels and the minimum effect of a result."""
    values = {}
    if result:
        thresholds = result.thresholds
        values = {
            "family": units.level(thresholds.family_level),
            "level": units.level(thresholds.own_level),
            "effect": minimum_effect(thresholds, (row.fullname for row in result.rows)),
        }
    return [f"{column.title}: {column.meaning.format(**values)}" for column in columns if column.meaning]


def result(comparison: Comparison, seconds: float | None = None, *, busy: bool = False) -> str:
    """Return the last lines in a terminal: the headline, and the command that accepts changes."""
    took = "" if seconds is None else f"; {units.seconds(seconds)}"
    lines = [f"{headline(comparison.rows, busy=busy).text}{took}"]
    if any(row.is_worse for row in comparison.rows):
        lines.append("to accept an intended change: gnnbench accept --help")
    return "\n".join(lines)


def sentence(row: Compared) -> str:
    """Return a benchmark's verdict, its reason and its notes on one line."""
    judgement = row.judgement
    if row.has_different_output:
        return "; ".join((judgement.reason, *memory_notes(row.memory), *row.notes))
    text = _counted_as(row)
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
    others = (*memory_notes(row.memory), *result_notes(row.results))
    # What fails the run comes first.
    first = (*others, text) if row.needs_more_memory and judgement.verdict != "slower" else (text, *others)
    return "; ".join((*first, *row.notes))
