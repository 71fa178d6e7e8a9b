"""`gnnbench ab BASE HEAD [-- PYTEST ARGS]`: times two variants of the code alternately and compares them."""

import argparse
import math
import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..ground import units
from ..ground.errors import UsageError
from ..ground.options import FRACTION, OPTIONS, Option, seconds
from . import common, streams

if TYPE_CHECKING:
    from ..process.plan import Plan

BUDGET_SECONDS = 60.0
_OPTIONS = (
    seconds(
        "budget",
        BUDGET_SECONDS,
        "average seconds per benchmark; time that one benchmark does not need is used for the others",
    ),
    seconds("total-budget", None, "seconds for all benchmarks together. Default: no limit."),
    Option("time-all", "", False).described("also time benchmarks for which both variants run the same code"),
    Option("instructions", "", False).described(
        "afterwards count the instructions of a call on both sides, if their code differs"
    ),
    Option("plant", "P", None, *FRACTION, one_run=True).described(
        "slow down each timed round of HEAD by this fraction, as a self-test: gnnbench ab . . --plant 5%"
    ),
    *common.PROCESSES,
)
_SHARD = OPTIONS["shard"].described("time only part I of N, with 1/N of the family-wise error rate")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_variants(parser)
    common.declare(parser, _OPTIONS, (common.EFFECT, common.RESULTS, common.BUILD, common.STRICT, _SHARD))
    common.add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Time and compare, print the verdicts, and return the exit code."""
    from ..drive import coordinator
    from ..drive.inspector import add_instructions
    from ..drive.settle import apply_excuses
    from ..measure import instructions
    from ..process import slowdown
    from ..show import causes, verdicts, wording

    plan, planted = _plan(options), options.typed.get("plant")
    if options.instructions:
        instructions.counter_name()  # raises if instructions cannot be counted
    with common.both_sides(options, plan) as (*sides, progress):
        slowdowns = (0.0, options.plant)  # of base and head
        base, head = map(slowdown.plant, sides, slowdowns) if planted else sides
        result = coordinator.run(base, head, plan, progress)
        if result.interrupted and not result.rows:
            raise KeyboardInterrupt
        if options.instructions and not result.interrupted:
            result = add_instructions(result, base, head, plan, progress)
    if planted:
        result = replace(result, notes=(*result.notes, f"a slowdown of {planted} was planted in the head"))
    result = replace(apply_excuses(result), path=options.json or Path())
    comparison = result.comparison
    with common.saving(options.json, result):
        explanations = causes.of_result(result)
        streams.show(verdicts.document(comparison, explanations, result, verbose=options.verbose))
        if result.interrupted:
            count = sum(not (row.counts and row.counts.decided) for row in result.rows)
            streams.say(f"interrupted: {units.count(count, 'benchmark')} not decided")
        streams.say(wording.result(comparison, result.seconds, busy=result.is_busy))
    if result.interrupted:
        return common.INTERRUPTED
    if plan.shard and not comparison.rows:
        return common.NOTHING_SLOWER  # this shard has no benchmarks
    return common.exit_code(comparison, strict=options.strict)


def _plan(options: argparse.Namespace) -> "Plan":
    """Return how the run is measured and judged; a shard gets its part of the error rate."""
    if any(word.startswith("--gnn-shard") for word in options.rest):
        raise UsageError(
            "--gnn-shard does not divide the error rate; give gnnbench ab its own --shard, before --"
        )
    plan = common.plan_of(
        options,
        "gnnbench ab BASE HEAD",
        seed=secrets.randbits(32),
        time_all=options.time_all or bool(options.plant),
        results=options.results,
        per_benchmark_seconds=options.budget,
        total_seconds=math.inf if options.total_budget is None else options.total_budget,
        shard=options.shard,
    )
    if plan.shard:
        level = plan.shard.family_level(plan.thresholds.family_level)
        plan = replace(plan, thresholds=replace(plan.thresholds, family_level=level))
    return plan
