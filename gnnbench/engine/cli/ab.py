"""`gnnbench ab BASE HEAD [-- PYTEST ARGS]`: times two variants of the code alternately and compares them."""

import argparse
import math
import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..ground import units
from ..ground.codec import as_text
from ..ground.errors import UsageError
from ..ground.files import cache_folder, check_writable
from ..ground.options import OPTIONS, Option, seconds
from ..ground.shard import Shard
from . import streams
from .common import (
    BUILD,
    EFFECT,
    INTERRUPTED,
    NOTHING_SLOWER,
    PROCESSES,
    RESULTS,
    STRICT,
    add_variants,
    add_verbose,
    both_sides,
    declare,
    exit_code,
    repeated,
    results_of,
    saving,
    suite,
    thresholds_of,
)

if TYPE_CHECKING:
    from ..drive.coordinator import Planned
    from ..show.document import Document

BUDGET_SECONDS = 60.0
_OWN = (
    seconds(
        "budget",
        BUDGET_SECONDS,
        "average seconds per benchmark; time that one benchmark does not need is used for the others",
    ),
    seconds("total-budget", None, "seconds for all benchmarks together"),
    Option("time-all", "", False, help="also time benchmarks for which both variants run the same code"),
    Option(
        "instructions",
        "",
        False,
        help="afterwards count the instructions of a call, on both sides, where the code differs",
    ),
    Option(
        "plan",
        "",
        False,
        help="only say what would be inspected, why, and how long it takes; nothing is started",
    ),
    *PROCESSES,
)
_SHARD = OPTIONS["shard"].described("time only part I of N, with 1/N of the family-wise error rate")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_variants(parser)
    declare(parser, _OWN, (EFFECT, RESULTS, BUILD, STRICT, _SHARD))
    parser.add_argument(
        "--plant",
        type=_planted,
        metavar="P",
        help="make each timed round of HEAD so much longer, to see that this is found: ab . . --plant 5%%",
    )
    add_verbose(parser)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write a Markdown table to FILE")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Time and compare, print the verdicts, and return the exit code."""
    from ..drive import coordinator
    from ..drive.inspecting import counted
    from ..process import slowdown
    from ..process.plan import Plan
    from ..show import causes, markdown, verdicts, wording

    shard = None if options.shard is None else Shard.parse(options.shard)
    thresholds = thresholds_of(options)
    if shard:
        thresholds = replace(thresholds, family_level=shard.family_level(thresholds.family_level))
    if any(word.startswith("--gnn-shard") for word in options.rest):
        raise UsageError(
            "--gnn-shard does not divide the error rate; give gnnbench ab its own --shard, before --"
        )
    planted = options.plant and f"{100 * options.plant:g}%"
    plan = Plan(
        arguments=suite(options.rest, "gnnbench ab BASE HEAD"),
        folder=Path.cwd(),
        timeout_seconds=options.timeout,
        seed=secrets.randbits(32),
        time_all=options.time_all or bool(planted),
        results=results_of(options),
        cache=cache_folder(),
        thresholds=thresholds,
        per_benchmark_seconds=options.budget,
        total_seconds=math.inf if options.total_budget is None else options.total_budget,
        shard=shard,
        build=options.build or "",
        options=(*repeated(options), *(("--plant", planted) if planted else ())),
    )
    _check(options)
    with both_sides(options, plan.arguments) as (*sides, progress):
        base, head = map(slowdown.planted, sides, (0.0, options.plant)) if planted else sides
        if options.plan:
            streams.show(_plan(coordinator.planned(base, head, plan, progress), options))
            return NOTHING_SLOWER
        found = coordinator.run(base, head, plan, progress)
        if found.interrupted and not found.rows:
            raise KeyboardInterrupt
        if options.instructions and not found.interrupted:
            found = counted(found, base, head, plan, progress)
    if planted:
        found = replace(found, notes=(*found.notes, f"a slowdown of {planted} was planted in the head"))
    found = replace(found.settled(), path=options.json or Path())
    comparison = found.comparison
    texts = {options.json: as_text(found), options.markdown: markdown.write(found)}
    with saving(texts):
        explained = causes.of_result(found)
        streams.show(verdicts.document(comparison, explained, found, verbose=options.verbose))
        if found.interrupted:
            left = sum(not (row.counts and row.counts.decided) for row in found.rows)
            streams.say(f"interrupted: {units.count(left, 'benchmark')} not decided")
        assert found.seconds is not None
        how = f"{planted} planted; " if planted else ""
        streams.say(f"{wording.result(comparison, busy=found.is_busy)}; {how}{units.seconds(found.seconds)}")
    if found.interrupted:
        return INTERRUPTED
    if shard and not comparison.rows:
        return NOTHING_SLOWER  # this shard has no benchmarks
    return exit_code(comparison, strict=options.strict)


def _planted(text: str) -> float:
    value = units.read_fraction(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r} must lie between 0 and 1, as in 5%")
    return value


def _plan(found: "Planned", options: argparse.Namespace) -> "Document":
    from ..show.lines import Note

    count = units.count(len(found.left), "benchmark") if found.left or found.known else "all benchmarks"
    about = "" if found.seconds is None else f", about {units.seconds(found.seconds)} as last time"
    lines = [f"known from files, nothing to start: {units.count(found.known, 'benchmark')}"]
    if found.left or not found.known:
        lines += [f"to inspect: {count}{about}", *(f"  {name}" for name in found.left)]
        lines += [f"why: {line}" for line in found.why]
        most = (
            "" if options.total_budget is None else f", at most {units.seconds(options.total_budget)} in all"
        )
        each = units.seconds(options.budget)
        lines.append(f"to time: those of them that run other code, {each} each on average{most}")
    return list(map(Note, lines))


def _check(options: argparse.Namespace) -> None:
    """See that files can be written and instructions counted here, before anything is timed."""
    for file in filter(None, (options.json, options.markdown)):
        check_writable(file)
    if not options.instructions:
        return
    from ..measure.instructions.counting import counter_name

    try:
        counter_name()
    except UsageError as error:
        raise UsageError(f"--instructions: {error}") from None
