"""`gnnbench bisect GOOD BAD [-- PYTEST ARGS]`: finds the commit or release that changed times or outputs."""

import argparse
import secrets

from ..ground.options import seconds
from ..show.progress import Progress
from . import common, streams
from .common import INTERRUPTED, NOT_JUDGED, NOTHING_SLOWER, SLOWER

_OPTIONS = (
    seconds("budget", 180.0, "average seconds per benchmark to decide if GOOD and BAD differ"),
    seconds("total-budget", 1800.0, "seconds for the whole bisection"),
    *common.PROCESSES,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = "git:REF, git:DIR@REF or pip:NAME==VERSION"
    parser.add_argument("good", metavar="GOOD", help=f"the older commit or release: {kinds}")
    parser.add_argument("bad", metavar="BAD", help="the newer commit or release, of the same kind")
    common.declare(parser, _OPTIONS, (common.EFFECT, common.BUILD))
    text = "find the commit or release that changed outputs; time nothing, so --budget has no effect"
    parser.add_argument("--outputs", action="store_true", help=text)
    common.add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Bisect, print the answer, and return the exit code."""
    from ..drive.bisect import bisection, outputs
    from ..ground import environment
    from ..show import bisect as show

    plan = common.plan_of(
        options,
        "gnnbench bisect GOOD BAD",
        per_benchmark_seconds=options.budget,
        total_seconds=options.total_budget,
        seed=secrets.randbits(32),
    )
    environment.let_idle_threads_sleep()
    with Progress() as progress:
        search = outputs if options.outputs else bisection
        result = search.run(options.good, options.bad, plan, progress)
    if result.unfinished:
        streams.say(f"{result.unfinished}; repeat the command to continue")
    with common.saving(options.json, result):
        if isinstance(result, outputs.BisectedOutputs):
            streams.show(show.of_outputs(result, verbose=options.verbose))
        else:
            streams.show(show.document(result, verbose=options.verbose))
    if result.unfinished == bisection.INTERRUPTED:
        return INTERRUPTED
    if isinstance(result, outputs.BisectedOutputs):
        has_compared = any(agreement.status != "not compared" for agreement in result.results.values())
        return SLOWER if result.changes else NOTHING_SLOWER if has_compared else NOT_JUDGED
    counts = result.verdicts
    is_inconclusive = not counts["faster"] and (counts["undecided"] or counts["incomparable"] or not counts)
    return SLOWER if counts["slower"] else NOT_JUDGED if is_inconclusive else NOTHING_SLOWER
