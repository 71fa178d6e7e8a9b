"""`gnnbench affected BASE HEAD [-- PYTEST ARGS]`: lists the benchmarks whose code a change affects."""

import argparse

from ..ground import units
from ..ground.options import EFFECT, Option
from . import common, streams

_FAIL = Option("fail", "", False).described(
    "exit with 1 if a benchmark fails in HEAD alone, has a different output or needs more memory"
)
_NAMED = 3
"""So many failed benchmarks are named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_variants(parser)
    common.declare(parser, (*common.PROCESSES, _FAIL), (common.RESULTS, common.BUILD))
    common.add_output(parser)
    parser.set_defaults(effect=EFFECT)


def run(options: argparse.Namespace) -> int:
    """Inspect, print what is affected, and return the exit code."""
    from ..drive import affected
    from ..show import affected as shown

    plan = common.plan_of(options, "gnnbench affected BASE HEAD", results=options.results)
    with common.both_sides(options, plan) as (base, head, progress):
        found = affected.run(base, head, plan, progress)
    with common.saving(options.json, found):
        streams.show(shown.document(found, verbose=options.verbose))
        if found.benchmarks:
            streams.say(f"{shown.summary(found)}; {units.seconds(found.seconds)}")
        else:
            streams.say("no benchmark was inspected")
    if options.fail and (worse := found.worse(plan.thresholds)):
        streams.say(f"{units.count(len(worse), 'benchmark')} failed: {units.listed(worse, _NAMED)}")
        return common.SLOWER
    return 0 if any(not one.failed for one in found.benchmarks.values()) else common.NOT_JUDGED
