"""Tries benchmarks that fail beside the other side again, in a process of that side alone."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..ground import units
from ..judge.visit import NotTimed
from ..process.processes import Processes, Shared, Terms
from ..process.variants.child import SIDES, DiedError
from ..process.variants.collected import Suite
from ..process.variants.command import Listener

_QUIT_SECONDS = 20.0
_ONE_PLACE = "both sides use one place, such as a port or a file"
_COMMANDS = ("inspect", "calibrate")
"""Those that call the benchmark, in the order in which both sides get them."""


def confirmed(
    terms: Terms, shared: Shared, listener: Listener, results: Mapping[str, object]
) -> dict[str, NotTimed]:
    """Run benchmarks again that one side has failed; return which the head fails, or cannot be compared.

    Nothing is known, and so they are left out, where the time of the run has ended, where the base fails
    again, or where a process that has died does not die again. No process of `terms` may run.
    """
    failing = {
        name: result
        for name, result in results.items()
        if isinstance(result, NotTimed) and (result.head_fails or result.base_fails)
    }
    if not failing:
        return {}
    listener.step(f"running {units.count(len(failing), 'benchmark')} again, in one side alone")
    again: dict[str, str] = {}
    for side in SIDES:
        names = [name for name, result in failing.items() if result.sides == (side,)]
        again |= _failures(side, names, terms, shared)
    of_head = [name for name, why in again.items() if why and failing[name].head_fails]
    in_base = _failures(SIDES[0], of_head, terms, shared)
    results_alone = {}
    for name, why in again.items():
        result = failing[name]
        if not why and result.kind != "died":
            text = f"the {result.sides[0]} passes alone, and not beside the other side: {result.text}"
            results_alone[name] = NotTimed("incomparable", f"{_ONE_PLACE}: {text}", SIDES)
        elif in_base.get(name):
            results_alone[name] = NotTimed("incomparable", f"fails on both sides: {why}", SIDES)
        elif name in in_base:
            results_alone[name] = NotTimed(
                "head fails", f"the head fails, the base does not: {why}", SIDES[1:]
            )
    return results_alone


def _failures(side: str, names: Iterable[str], terms: Terms, shared: Shared) -> dict[str, str]:
    """Return why benchmarks fail on a side, by name; empty: they pass. What cannot be tried is left out."""
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
    if name not in (*suite.names, *suite.left_out):
        return f"has no such test{suite.missing(name)[SIDES[0]]}"
    processes.send(side, command="run", name=name, seed=0, checked=False)
    answer = processes.answer(side)
    commands = [] if answer.get("once") else list(_COMMANDS)
    while answer["answer"] != "done":
        processes.send(side, command=commands.pop(0) if commands else "next", leave=False)
        answer = processes.answer(side)
    failure = answer["failure"]
    return str(failure["text"]) if failure and not failure["skipped"] else ""
