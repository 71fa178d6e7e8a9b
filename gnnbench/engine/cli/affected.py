"""`gnnbench affected BASE HEAD [-- PYTEST ARGS]`: lists the benchmarks whose code a change affects."""

import argparse

from ..ground import units
from ..ground.codec import as_text
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
    parser.add_argument(
        "--explain",
        metavar="ID",
        help="show everything that differs for one benchmark: its test id, or a part that no other id has",
    )
    common.declare(parser, (*common.PROCESSES, _FAIL), (common.RESULTS, common.BUILD))
    common.add_output(parser, markdown=False)
    parser.set_defaults(effect=EFFECT)


def run(options: argparse.Namespace) -> int:
    """Inspect, print what is affected, and return the exit code."""
    from ..drive import affected
    from ..show import affected as shown

    plan = common.plan_of(options, "gnnbench affected BASE HEAD", results=options.results)
    with common.both_sides(options, plan) as (base, head, progress):
        found = affected.run(base, head, plan, progress, options.explain)
    with common.saving({options.json: as_text(found)}):
        if options.explain:
            for name, one in found.benchmarks.items():
                print("\n".join(shown.explanation(name, one)))
        else:
            streams.show(shown.document(found, verbose=options.verbose))
        if not found.benchmarks:
            streams.say("no benchmark was inspected")
        elif not options.explain:
            streams.say(f"{shown.summary(found)}; {units.seconds(found.seconds)}")
    if options.fail and (worse := found.worse(plan.thresholds)):
        streams.say(f"{units.count(len(worse), 'benchmark')} failed: {units.listed(worse, _NAMED)}")
        return common.SLOWER
    return 0 if any(not one.failed for one in found.benchmarks.values()) else common.NOT_JUDGED
