"""`gnnbench bisect GOOD BAD [-- PYTEST ARGS]`: finds the commit or release that changed times or outputs."""

import argparse
import secrets
from functools import partial

from ..ground.codec import as_text
from ..ground.options import seconds
from ..show.progress import Progress
from . import common, streams
from .common import INTERRUPTED, NOT_JUDGED, NOTHING_SLOWER, SLOWER

BUDGET_SECONDS = 180.0
TOTAL_SECONDS = 1800.0
_OWN = (
    seconds("budget", BUDGET_SECONDS, "average seconds per benchmark to find out whether the ends differ"),
    seconds("total-budget", TOTAL_SECONDS, "seconds for everything together"),
    *common.PROCESSES,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    ends = "git:REF, git:DIR@REF or pip:NAME==VERSION"
    parser.add_argument("good", metavar="GOOD", help=f"the older end: {ends}")
    parser.add_argument("bad", metavar="BAD", help="the newer end, of the same kind")
    common.declare(parser, _OWN, (common.EFFECT, common.BUILD))
    text = "find what changed outputs, and time nothing"
    parser.add_argument("--outputs", action="store_true", help=text)
    common.add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Bisect, print the answer, and return the exit code."""
    from ..drive.bisect import bisection, outputs
    from ..ground import environment
    from ..show import bisect as shown
    from ..show.markdown_text import Markdown

    plan = common.plan_of(
        options,
        "gnnbench bisect GOOD BAD",
        per_benchmark_seconds=options.budget,
        total_seconds=options.total_budget,
        seed=secrets.randbits(32),
    )
    environment.let_idle_threads_sleep()
    ends = options.good, options.bad, plan
    with Progress() as progress:
        if options.outputs:
            of_outputs = outputs.run(*ends, progress)
            text, document = as_text(of_outputs), partial(shown.of_outputs, of_outputs)
            known = any(one.status != "not compared" for one in of_outputs.results.values())
            code = SLOWER if of_outputs.changes else NOTHING_SLOWER if known else NOT_JUDGED
        else:
            found = bisection.run(*ends, progress)
            text, document, counts = as_text(found), partial(shown.document, found), found.verdicts
            unsure = not counts["faster"] and (counts["undecided"] or counts["incomparable"] or not counts)
            code = SLOWER if counts["slower"] else NOT_JUDGED if unsure else NOTHING_SLOWER
            if found.unfinished:
                streams.say(f"{found.unfinished}; the same command continues")
                code = INTERRUPTED if found.unfinished == bisection.INTERRUPTED else code
    with common.saving({options.json: text, options.markdown: Markdown().write(document())}):
        streams.show(document(verbose=options.verbose))
    return code
