"""Confirms what a pair of processes says of a benchmark: that a side fails, or that time or code changed."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from ..ground import units
from ..ground.cpu import RealTime
from ..interfaces import Listener
from ..judge.schedule import PairPlan
from ..judge.trial import RECHECKS, Trial, contradiction
from ..judge.verdict import Judgement
from ..judge.visit import Inspections, NotTimed, Visit
from ..measure.fingerprint.difference import Difference
from ..measure.fingerprint.libraries import functions_differing
from ..measure.fingerprint.machine_code import CONSTANTS
from ..process.pairs import NotStartedError, Pairs
from ..process.parents import Shared
from ..process.processes import Processes, Terms
from ..process.variants.builds import trapped
from ..process.variants.child import SIDES, DiedError
from ..process.variants.collected import Suite

_QUIT_SECONDS = 20.0
RECHECK_SECONDS = 0.4
"""Length of a visit in a pair that checks a change."""
_ONE_PLACE = "both sides use the same port or file"
_UNEXECUTED = "runs none of the compiled functions that differ"
_COMMANDS = ("inspect", "calibrate")
"""Those that call the benchmark, in the order in which both sides get them."""


def failures(terms: Terms, shared: Shared, listener: Listener, trials: Iterable[Trial]) -> None:
    """Run benchmarks again that one side has failed, and note which the head fails, or cannot be compared.

    Nothing is noted where the time of the run has ended, where the base fails again, or where a process that
    has died does not die again. No process of `terms` may run.
    """
    failing = {
        trial.name: (trial, why)
        for trial in trials
        if (why := trial.not_timed) and (why.head_fails or why.base_fails)
    }
    if not failing:
        return
    listener.step(f"running {units.count(len(failing), 'benchmark')} again, in one side alone")
    again: dict[str, str] = {}
    for side in SIDES:
        names = [name for name, (_, why) in failing.items() if why.sides == (side,)]
        again |= _failures(side, names, terms, shared)
    of_head = [name for name, reason in again.items() if reason and failing[name][1].head_fails]
    in_base = _failures(SIDES[0], of_head, terms, shared)
    for name, reason in again.items():
        trial, why = failing[name]
        if not reason and why.kind != "died":
            text = f"the {why.sides[0]} passes alone, but not while the other side runs: {why.text}"
            trial.not_timed = NotTimed("incomparable", f"{_ONE_PLACE}: {text}", SIDES)
        elif in_base.get(name):
            trial.not_timed = NotTimed("incomparable", f"fails on both sides: {reason}", SIDES)
        elif name in in_base:
            text = f"the head fails, the base does not: {reason}"
            trial.not_timed = NotTimed("head fails", text, SIDES[1:])


def _failures(side: str, names: Iterable[str], terms: Terms, shared: Shared) -> dict[str, str]:
    """Return why benchmarks fail on a side, by name; empty if they pass. What cannot be tried is left out."""
    reasons: dict[str, str] = {}
    waiting = list(names)
    while waiting and shared.left_seconds() > 0:
        processes, quit_seconds, suite = Processes(replace(terms, untimed=True), shared), 0.0, None
        try:
            suite = Suite(*processes.start([side]).values())
            while waiting:
                reasons[waiting[0]] = _failure(processes, side, waiting[0], suite)
                del waiting[0]
            quit_seconds = _QUIT_SECONDS
        except DiedError as error:
            if suite is None or shared.left_seconds() <= 0:
                break
            reasons[waiting.pop(0)] = str(error).removeprefix(f"{side}: ")
        finally:
            processes.stop(quit_seconds)
    return reasons


def _failure(processes: Processes, side: str, name: str, suite: Suite) -> str:
    """Run a benchmark with some calls; return why it fails, or an empty text."""
    if name not in suite.names:
        return f"has no such test{suite.missing(name)[SIDES[0]]}"
    processes.send(side, command="run", name=name, seed=0, checked=False)
    answer = processes.answer(side)
    commands = [] if answer.get("once") else list(_COMMANDS)
    while answer["answer"] != "done":
        processes.send(side, command=commands.pop(0) if commands else "next", leave=False)
        answer = processes.answer(side)
    failure = answer["failure"]
    return str(failure["text"]) if failure and not failure["skipped"] else ""


def changes(
    terms: Terms, pairs: Pairs, trials: Mapping[str, Trial], verdicts: Mapping[str, Judgement]
) -> str:
    """Let pairs of two processes contradict what changed in one; return a line if no time is left."""
    names = [name for name, verdict in verdicts.items() if verdict.verdict in ("slower", "faster")]
    shared = pairs.shared
    if not names or shared.why_apart or shared.why_no_forks:
        return ""
    if shared.parents and shared.left_seconds() < shared.parents.seconds / 2:
        return "changed benchmarks were not timed in processes of their own: no time was left"
    pairs.separate("changed benchmarks are timed in processes of their own")
    visits: dict[str, list[Visit]] = {name: [] for name in names}
    pair_plan = PairPlan(dict.fromkeys(names, RECHECK_SECONDS))
    for _ in range(RECHECKS):
        if shared.left_seconds() <= 0:
            break
        try:
            _, times = pairs.measure(terms, trials, pair_plan)
        except NotStartedError:
            break
        for name, visit in times.visits.items():
            visits[name].append(visit)
    for name in names:
        trials[name].contradiction = contradiction(verdicts[name], visits[name])
    return ""


def unexecuted(
    trials: Iterable[Trial], terms: Terms, pairs: Pairs, end: float
) -> Iterator[tuple[Trial, Inspections]]:
    """Yield benchmarks that execute none of the functions that differ in compiled code, with new inspections.

    Their calls run once more, on both sides, in copies of the builds in which these functions end the
    process, whatever calls them and in whichever thread. What comes to its end has executed the same code
    since the libraries were loaded. Constants that such a function names belong to it; others, and variables,
    are the same. `end`: when to cease, by RealTime.
    """
    differing = {trial: found for trial in trials if (found := _differing(trial.inspections))}
    functions = {library: names for found in differing.values() for library, names in found.items()}
    if not functions:
        return
    with ExitStack() as stack:
        base, head = (stack.enter_context(trapped(side, functions)) for side in (terms.base, terms.head))
        trees = tuple(map(str, (*base.trees, *head.trees)))
        terms = Terms(base, head, about="changed functions: ", spared=SIDES, untimed=True, trapped=functions)
        remaining = list(differing)
        while remaining and RealTime.seconds() < end:
            with pairs.started(terms) as pair:
                if pair.broken:
                    return
                while remaining and not pair.broken and RealTime.seconds() < end:
                    trial = remaining.pop(0)
                    again = pair.inspect(Trial(trial.name))
                    if isinstance(again, Inspections) and again.same_code:
                        loaded = (file for used in pair.used.values() for file in used["native"])
                        if all(file.startswith(trees) for file in loaded if Path(file).name in functions):
                            yield trial, replace(again, notes=(*again.notes, _UNEXECUTED))


def _differing(found: Inspections | None) -> Mapping[str, list[str]]:
    """Return by library the functions that differ; empty if anything else does, or may."""
    changed = found.work.changed if found else None
    if not found or not changed or changed != Difference(libraries=changed.libraries):
        return {}
    base, head = (side["fingerprint"]["libraries"] for side in found.sides)
    differing = {
        name: functions_differing(base[name], head[name]) for name in base if base[name] != head[name]
    }
    is_known = all(names and CONSTANTS not in names for names in differing.values())
    return differing if is_known else {}
