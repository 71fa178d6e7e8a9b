"""`gnnbench affected BASE HEAD [-- PYTEST ARGS]`: lists the benchmarks whose code a change affects."""

import argparse

from ..ground import units
from ..ground.options import EFFECT, Option
from . import common, streams

_FAIL = Option("fail", "", False).described(
    "exit with 1 if a benchmark has a different output, needs more memory, or fails in HEAD only"
)
_NAMED = 3
"""Maximum number of failed benchmarks that a line names."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_variants(parser)
    common.declare(parser, (*common.PROCESSES, _FAIL), (common.RESULTS, common.BUILD))
    common.add_output(parser)
    parser.set_defaults(effect=EFFECT)


def run(options: argparse.Namespace) -> int:
    """Inspect, print what is affected, and return the exit code."""
    from ..drive import affected
    from ..show import affected as show

    plan = common.plan_of(options, "gnnbench affected BASE HEAD", results=options.results)
    with common.both_sides(options, plan) as (base, head, progress):
        result = affected.run(base, head, plan, progress)
    with common.saving(options.json, result):
        streams.show(show.document(result, verbose=options.verbose))
        if result.benchmarks:
            streams.say(f"{show.summary(result)}; {units.seconds(result.seconds)}")
        else:
            streams.say("no benchmark was inspected")
    if options.fail and (worse := result.worse(plan.thresholds)):
        streams.say(f"{units.count(len(worse), 'benchmark')} failed: {units.listed(worse, _NAMED)}")
        return common.SLOWER
    return 0 if any(not row.failed for row in result.benchmarks.values()) else common.NOT_JUDGED
