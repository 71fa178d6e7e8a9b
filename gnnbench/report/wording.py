"""What is to be said of benchmarks in a sentence."""

from collections.abc import Sequence

from .. import units
from ..compare.verdict import Judgement, Thresholds
from .table import SHORT_DIRECTION
from .view import BenchmarkView, JudgedBy, View


def headline(view: View) -> str:
    """Return what a reader should take away, in a line."""
    if view.kind == "profile":
        return f"Where the time of {view.source} goes"
    if view.kind == "calibration":
        return "What gnnbench ab finds on this machine"
    if not view.benchmarks:
        return "There is no benchmark in this file"
    if all(one.error for one in view.benchmarks):
        return f"{_all(len(view.benchmarks))} cut short"
    others = [one for one in view.benchmarks if one.judgement or not one.error]
    cut = len(view.benchmarks) - len(others)
    if view.judged:
        text = _whole(view.judged, _verdicts(others, view.judged.thresholds))
    else:
        text = f"{len(others):,} benchmark{'s' if len(others) > 1 else ''}, not compared with anything"
    return f"{text}; {cut} cut short" if cut else text


def moved(benchmarks: Sequence[BenchmarkView]) -> list[BenchmarkView]:
    """Return what is slower, the most first, and then what is faster."""
    slower = [one for one in benchmarks if verdict(one) == "slower"]
    faster = [one for one in benchmarks if verdict(one) == "faster"]
    return sorted(slower, key=lambda one: -ratio(one)) + sorted(faster, key=ratio)


def verdict(benchmark: BenchmarkView) -> str:
    """Return its verdict, nothing where it has none."""
    return benchmark.judgement.verdict if benchmark.judgement else ""


def ratio(benchmark: BenchmarkView) -> float:
    """Return its ratio, 1 where it has none."""
    return (benchmark.judgement and benchmark.judgement.ratio) or 1.0


def change(benchmark: BenchmarkView) -> str:
    """Say what became of one that is slower or faster: `gcn_norm f+b is 1.12x slower on torch`."""
    return f"{subject(benchmark)} is {_times(verdict(benchmark), ratio(benchmark))}{where(benchmark)}"


def subject(benchmark: BenchmarkView) -> str:
    """Return what is run: `gcn_norm f+b`."""
    spec = benchmark.spec
    return f"{spec.operation} {SHORT_DIRECTION[spec.direction]}" if spec else benchmark.title


def where(benchmark: BenchmarkView) -> str:
    """Return on what it is run: ` on torch`, nothing where that is not known."""
    return f" on {benchmark.spec.platform}" if benchmark.spec else ""


def interval(benchmark: BenchmarkView) -> str:
    """Return the interval of a ratio, nothing where there is none."""
    found = benchmark.judgement
    return units.interval(found.low, found.high) if found else ""


def whole(shared: Judgement) -> str:
    """Say on what grounds the run as a whole has its verdict: `1.06x (1.04-1.08), the interval ...`."""
    bounds = units.interval(shared.low, shared.high)
    found = [] if shared.ratio is None else [f"{shared.ratio:.2f}x{f' ({bounds})' if bounds else ''}"]
    return ", ".join((*found, shared.reason))


def spread(benchmark: BenchmarkView) -> float | None:
    """Return the larger distance of a bound from the time, as a fraction of it; None without both bounds."""
    found = benchmark.measured
    if found is None or found.low_seconds is None or found.high_seconds is None:
        return None
    return max(found.high_seconds - found.seconds, found.seconds - found.low_seconds) / found.seconds


def _whole(judged: JudgedBy, of_benchmarks: str) -> str:
    """Put before what is said of benchmarks what became of the run as a whole, where the machine drifted."""
    shared = judged.shared
    if shared is None or shared.verdict == "same":
        return of_benchmarks
    became: str = shared.verdict
    if shared.ratio is not None and became in ("slower", "faster"):
        became = _times(became, shared.ratio)
    return f"The run as a whole is {became}; beside that, {of_benchmarks[0].lower()}{of_benchmarks[1:]}"


def _times(word: str, factor: float) -> str:
    return f"{factor:.2f}x slower" if word == "slower" else f"{1 / factor:.2f}x faster"


def _verdicts(benchmarks: Sequence[BenchmarkView], thresholds: Thresholds | None) -> str:
    words = [verdict(one) for one in benchmarks if one.judgement]
    of = f"of {len(words):,} benchmarks"
    changed = moved(benchmarks)
    slower = words.count("slower")
    if slower == 1:
        return f"1 {of} is slower: {change(changed[0])}"
    if slower:
        return f"{slower} {of} are slower; {change(changed[0])}"
    if not set(words) - {"incomparable"}:
        return f"{_all(len(words))} incomparable"
    words_of = ("faster", "undecided", "incomparable")
    counted = [(words.count(word), word) for word in words_of if word in words]
    if not {"faster", "undecided"} & set(words):
        within = f" within {units.fraction(thresholds.effect)}" if thresholds else ""
        counted.insert(0, (words.count("same"), f"the same{within}"))
    (first, word), *others = counted
    said = [f"{first} {of} {'is' if first == 1 else 'are'} {word}", *(f"{n} {other}" for n, other in others)]
    return f"Nothing is {'known to be ' if 'undecided' in words else ''}slower: {', '.join(said)}"


def _all(count: int) -> str:
    return f"All {count:,} benchmarks are" if count > 1 else "The one benchmark is"
