"""`gnnbench report RUN.json [BASE.json ...]`: makes an HTML page of measurements and verdicts, and slides."""

import argparse
import sys
from pathlib import Path

from ..ground.errors import UsageError
from ..ground.files import check_folder, save
from . import streams
from .common import EFFECT, NOTHING_SLOWER, declare, thresholds_of

_EFFECT = EFFECT.described(
    "minimum effect of interest when run files are compared; saved results keep theirs. Default: 3%."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a run file, or a result of ab or compare (--json). "
        "Further run files are the older version, to compare the first with.",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="write the page to FILE. Default: report.html.",
    )
    parser.add_argument(
        "--slides", type=Path, metavar="DIR", help="also write each chart to DIR, as SVG and PNG"
    )
    declare(parser, (), (_EFFECT,))


def run(options: argparse.Namespace) -> int:
    """Write the page and the slides, and return 0, whatever the verdicts are."""
    from ..ground import packages, units

    if reason := packages.missing(packages.PAGES):
        raise UsageError(reason)
    from ..show import composed, names, slides, view_page
    from ..show.pictures import pictures

    view = composed.read(options.files, thresholds_of(options))
    for line in view.left_out:
        streams.say(f"gnnbench: {line}", sys.stderr)
    drawn = list(pictures(view))
    page = view_page.html(view, drawn)
    save(options.output, page, options.files)
    print(names.clean(view.headline, names.LONGEST))
    print(f"{options.output}: {units.size(len(page.encode()))}")
    if options.slides:
        if not drawn and not view.same_code:
            raise UsageError(f"{view.source} has nothing to draw: give a file with timed benchmarks")
        check_folder(options.slides)
        print(f"drawing slides in {options.slides}", file=sys.stderr)
        for path in slides.write(drawn, slides.footer(view.facts, view.result), options.slides):
            print(path)
    return NOTHING_SLOWER
