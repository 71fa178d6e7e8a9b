"""`gnnbench report FILE.json`: makes an HTML page of measurements and verdicts, and optionally a slide."""

import argparse
from pathlib import Path

from ..ground.errors import UsageError
from ..ground.files import check_folder, save
from .common import NOTHING_SLOWER


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="a run file, or a result of gnnbench ab or compare (--json)"
    )
    text = "write the page to FILE. Default: report.html."
    parser.add_argument("-o", "--output", type=Path, default=Path("report.html"), metavar="FILE", help=text)
    parser.add_argument(
        "--slides", type=Path, metavar="DIR", help="also write the chart to DIR as a slide, as SVG and PNG"
    )


def run(options: argparse.Namespace) -> int:
    """Write the page and the slides, and return 0, whatever the verdicts are."""
    from ..ground import packages, units

    if reason := packages.missing(packages.PAGES):
        raise UsageError(reason)
    from ..show import names, slides
    from ..show.page import html
    from ..show.pictures import picture
    from ..show.view import read

    view = read(options.file)
    chart = picture(view)
    page = html(view, chart)
    save(options.output, page, [options.file])
    print(names.clean(view.headline, names.LONGEST))
    print(f"{options.output}: {units.size(len(page.encode()))}")
    if options.slides:
        if not chart and not view.same_code:
            raise UsageError(f"{view.source} has no times to draw: give a file with timed benchmarks")
        check_folder(options.slides)
    if options.slides and chart:
        last = slides.footer(view.facts, view.result)
        for path in slides.save(chart, last, options.slides / options.file.stem):
            print(path)
    return NOTHING_SLOWER
