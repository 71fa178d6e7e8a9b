"""Checks again what a pair of processes found out: failures, and changes of time or of compiled code."""

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
from ..process.plan import PairSettings
from ..process.processes import Processes, Shared
from ..process.variants.builds import trapped
from ..process.variants.child import QUIT_SECONDS, SIDES, DiedError
from ..process.variants.collected import Suite

RECHECK_SECONDS = 0.4
"""Time for each benchmark in a pair of processes that checks changes."""
_SHARED_RESOURCE = "both sides may use the same port or file"
_UNEXECUTED = "runs none of the compiled functions that differ"
_COMMANDS = ("inspect", "calibrate")
"""The commands that make a worker call the benchmark, in their usual order."""


def failures(
    settings: PairSettings, shared: Shared, listener: Listener, not_timed: Mapping[str, NotTimed]
) -> dict[str, NotTimed]:
    """Run failed benchmarks again, on the failing side alone. Return why they cannot be timed.

    There are three reasons: only the head fails, both sides fail, or the failing side passes when alone.
    Other benchmarks are left out, such as those that only the base fails, or whose process died only once.
    All processes of the pair must have ended before.
    """
    failing = {name: row for name, row in not_timed.items() if row.head_fails or row.base_fails}
    if not failing:
        return {}
    listener.step(f"running {units.count(len(failing), 'benchmark')} again, on one side at a time")
    reasons: dict[str, str] = {}
    for side in SIDES:
        names = [name for name, failure in failing.items() if failure.sides == (side,)]
        reasons |= _run_alone(side, names, settings, shared)
    head_failing = [name for name, reason in reasons.items() if reason and failing[name].head_fails]
    base_reasons = _run_alone(SIDES[0], head_failing, settings, shared)
    confirmed = {}
    for name, reason in reasons.items():
        failure = failing[name]
        if not reason and failure.kind != "died":
            text = f"the {failure.sides[0]} passes alone, but not while the other side runs: {failure.text}"
            confirmed[name] = NotTimed("incomparable", f"{_SHARED_RESOURCE}: {text}", SIDES)
        elif base_reasons.get(name):
            confirmed[name] = NotTimed("incomparable", f"fails on both sides: {reason}", SIDES)
        elif name in base_reasons:
            text = f"fails in the head, but not in the base: {reason}"
            confirmed[name] = NotTimed("head fails", text, SIDES[1:])
    return confirmed


def _run_alone(side: str, names: Iterable[str], settings: PairSettings, shared: Shared) -> dict[str, str]:
    """Run benchmarks on one side. Return by name why each one fails, or an empty text if it passes.

    Benchmarks that could not be run are not in the mapping.
    """
    reasons: dict[str, str] = {}
    waiting = list(names)
    while waiting and shared.left_seconds() > 0:
        processes, quit_seconds, suite = Processes(replace(settings, untimed=True), shared), 0.0, None
        try:
            suite = Suite(*processes.start([side]).values())
            while waiting:
                reasons[waiting[0]] = _run_test(processes, side, waiting[0], suite)
                del waiting[0]
            quit_seconds = QUIT_SECONDS
        except DiedError as error:
            if suite is None or shared.left_seconds() <= 0:
                break
            reasons[waiting.pop(0)] = str(error).removeprefix(f"{side}: ")
        finally:
            processes.stop(quit_seconds)
    return reasons


def _run_test(processes: Processes, side: str, name: str, suite: Suite) -> str:
    """Run the test of a benchmark, with a few calls. Return why the test fails. Empty if it passes."""
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
    settings: PairSettings, pairs: Pairs, trials: Mapping[str, Trial], verdicts: Mapping[str, Judgement]
) -> str:
    """Time slower and faster benchmarks again, with each side in a process of its own.

    Sets `contradiction` where the new times contradict the verdict. Returns a note if no time is left.
    """
    names = [name for name, verdict in verdicts.items() if verdict.verdict in ("slower", "faster")]
    shared = pairs.shared
    if not names or shared.why_apart or shared.why_no_forks:
        return ""
    if shared.parents and shared.left_seconds() < shared.parents.seconds / 2:
        return "no time was left to time changed benchmarks again, with a process for each side"
    pairs.separate("changed benchmarks are timed in processes of their own")
    visits: dict[str, list[Visit]] = {name: [] for name in names}
    pair_plan = PairPlan(dict.fromkeys(names, RECHECK_SECONDS))
    for _ in range(RECHECKS):
        if shared.left_seconds() <= 0:
            break
        try:
            _, times = pairs.measure(settings, trials, pair_plan)
        except NotStartedError:
            break
        for name, visit in times.visits.items():
            visits[name].append(visit)
    for name in names:
        trials[name].contradiction = contradiction(verdicts[name], visits[name])
    return ""


def unexecuted(
    trials: Iterable[Trial], settings: PairSettings, pairs: Pairs, end: float
) -> Iterator[tuple[Trial, Inspections]]:
    """Yield benchmarks that execute none of the compiled functions that differ, each with a new inspection.

    One call runs again on both sides, with copies of the builds in which these functions end the process. If
    the call returns, both sides have executed the same code since the libraries were loaded: constants that
    a function uses count as its code, and all other data are equal. `end`: when to stop, by RealTime.
    """
    differing = {trial: names for trial in trials if (names := _differing_functions(trial.inspections))}
    functions = {library: names for libraries in differing.values() for library, names in libraries.items()}
    if not functions:
        return
    with ExitStack() as stack:
        base = stack.enter_context(trapped(settings.base, functions))
        head = stack.enter_context(trapped(settings.head, functions))
        trees = tuple(map(str, (*base.trees, *head.trees)))
        settings = PairSettings(
            base, head, about="changed functions: ", spared=SIDES, untimed=True, trapped=functions
        )
        remaining = list(differing)
        while remaining and RealTime.seconds() < end:
            with pairs.start(settings) as pair:
                if pair.broken:
                    return
                while remaining and not pair.broken and RealTime.seconds() < end:
                    trial = remaining.pop(0)
                    again = pair.inspect(Trial(trial.name))
                    if isinstance(again, Inspections) and again.same_code:
                        loaded = (file for used in pair.used.values() for file in used["mapped"])
                        if all(file.startswith(trees) for file in loaded if Path(file).name in functions):
                            yield trial, replace(again, notes=(*again.notes, _UNEXECUTED))


def _differing_functions(inspections: Inspections) -> Mapping[str, list[str]]:
    """Return the compiled functions that differ, by library. Empty if anything else may differ."""
    changed = inspections.work.changed
    if not changed or changed != Difference(libraries=changed.libraries):
        return {}
    base, head = (side["fingerprint"]["libraries"] for side in inspections.sides)
    differing = {
        name: functions_differing(base[name], head[name]) for name in base if base[name] != head[name]
    }
    is_known = all(names and CONSTANTS not in names for names in differing.values())
    return differing if is_known else {}
