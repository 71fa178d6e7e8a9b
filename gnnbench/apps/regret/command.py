"""`gnnbench regret [OPERATION...]`: compares the ways to compute an operation, on a grid of graphs."""

import argparse
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.cli import common, streams
from ...engine.ground.codec import as_text
from ...engine.ground.errors import UsageError, unknown_name
from ...engine.ground.files import cache_folder, check_writable, save
from ...engine.ground.options import seconds
from ...engine.show.progress import Progress
from ...engine.store.option_defaults import every

if TYPE_CHECKING:
    from ...suite.graphs.catalog import DatasetName
    from .result import Regrets
    from .run import Grid

BUDGET_SECONDS = 1800.0
_LISTS = {
    "skew": ("uniform,rmat,hub", "kinds of random graphs"),
    "scale": ("10", "graphs of 2**N nodes"),
    "degree": ("2,4,8,16,32", "mean numbers of neighbours"),
    "threads": ("1", "numbers of CPU threads"),
    "direction": ("forward,forward_backward", "directions"),
}
_MOST_DIGITS = 4
"""Of a number of threads, a degree or a scale."""
_HIDDEN = "8,32,64,128"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "operations",
        nargs="*",
        metavar="OPERATION",
        help="operations with several ways, such as scatter_max. Default: all that have some.",
    )
    for name, (default, text) in _LISTS.items():
        parser.add_argument(f"--{name}", metavar="LIST", help=f"{text}, with commas. Default: {default}.")
    graphs = "graphs, instead of random ones by --skew, --scale and --degree"
    shared = (
        every()["dataset"].described(graphs),
        every()["hidden"].described(f"widths, with commas. Default: {_HIDDEN}."),
        *(every()[name] for name in ("dtype", "index-dtype", "device", "data")),
        common.EFFECT.described("ways that differ by less count as equally fast. Default: 3%."),
    )
    common.declare(parser, (seconds("budget", BUDGET_SECONDS, "seconds for all points together"),), shared)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result to FILE")
    parser.add_argument(
        "--from", dest="saved", type=Path, metavar="FILE", help="time nothing; show the result in FILE"
    )
    parser.add_argument("--against", type=Path, metavar="OLD", help="say what differs from the result in OLD")
    parser.add_argument(
        "--maps", type=Path, metavar="DIR", help="also write a map of each call to DIR, as SVG and PNG"
    )


def run(options: argparse.Namespace) -> int:
    """Measure or read a result, show it, and return the exit code."""
    from . import shown
    from .result import Regrets

    read = _checked(options)
    older = Regrets.read(options.against) if options.against else None
    interrupted = False
    if options.saved:
        found = Regrets.read(options.saved)
    else:
        found, interrupted = _measured(options)
    if options.json:
        save(options.json, as_text(found), read)
    streams.show(shown.document(found, older))
    if options.maps:
        from . import maps

        print(f"drawing maps in {options.maps}", file=sys.stderr)
        written = [*map(str, maps.write(found, options.maps))]
        print(*written or ["no maps: no call was timed on a random graph"], sep="\n")
    if interrupted:
        streams.say(f"gnnbench: interrupted after {len(found.points)} points", sys.stderr)
        return common.INTERRUPTED
    return common.NOTHING_SLOWER if any(point.fastest for point in found.points) else common.NOT_JUDGED


def _checked(options: argparse.Namespace) -> list[Path]:
    """Check what can be checked before anything is measured; return the files that are read."""
    if options.maps:
        from ...engine.ground import packages

        if reason := packages.missing(packages.PAGES):
            raise UsageError(reason)
        try:
            options.maps.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = f"--maps {options.maps} cannot be made ({error.strerror}): choose another folder"
            raise UsageError(reason) from None
    given = [*options.operations, *(f"--{name}" for name in _LISTS if getattr(options, name) is not None)]
    if options.saved and given:
        raise UsageError(f"--from shows the whole result in {options.saved}: leave out {', '.join(given)}")
    if options.json and options.saved:
        raise UsageError(f"--json saves what is measured, and {options.saved} is saved: leave --json out")
    read = [options.against] if options.against else []
    if options.json:
        check_writable(options.json, read)
    return read


def _measured(options: argparse.Namespace) -> "tuple[Regrets, bool]":
    """Measure all points; return what was measured, and whether the user ended it."""
    from ...engine.ground import environment, packages

    if reason := packages.missing(("torch", "torch_geometric")):
        raise UsageError(reason)
    environment.let_idle_threads_sleep()  # before torch is imported
    grid = _grid(options)

    from ...engine.ground.cpu import RealTime
    from ...engine.measure.layouts import clock_for
    from . import run as measuring
    from .result import Point, Regrets

    points: list[Point] = []
    interrupted = False
    with Progress() as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a forced way may be one that its library warns of
        try:
            points += measuring.measure(
                grid,
                options.budget,
                options.effect,
                options.data,
                cache_folder(),
                lambda devices: clock_for(devices, RealTime.seconds, flush=True),
                progress.step,
            )
        except KeyboardInterrupt:
            interrupted = True
    return Regrets(tuple(points), options.effect, environment.collect()), interrupted


def _grid(options: argparse.Namespace) -> "Grid":
    """Return the grid that the options describe."""
    from ...suite.spec import FORWARD, FORWARD_BACKWARD
    from .paths import FAMILIES
    from .run import Grid

    known = [name for family in FAMILIES for name in family.operations]
    chosen = [name for text in options.operations for name in text.split(",") if name]
    for name in chosen:
        if name not in known:
            raise unknown_name("operation with several ways", name, known)
    wanted = set(chosen or known)
    families = [family for family in FAMILIES if wanted & set(family.operations)]
    directions = _words("direction", options)
    for name in directions:
        if name not in (FORWARD, FORWARD_BACKWARD):
            raise unknown_name("direction", name, (FORWARD, FORWARD_BACKWARD))
    return Grid(
        families,
        directions,
        options.dataset or _random_graphs(options),
        options.hidden or tuple(map(int, _HIDDEN.split(","))),
        options.dtype,
        options.index_dtype,
        _numbers("threads", options),
        options.device[0],
    )


def _random_graphs(options: argparse.Namespace) -> "tuple[DatasetName, ...]":
    """Return a graph for each kind, scale and degree: half as many edges for each node as neighbours."""
    from ...suite.graphs.catalog import DatasetName

    kinds = _words("skew", options)
    for kind in kinds:
        if kind not in _LISTS["skew"][0].split(","):
            raise unknown_name("kind of random graph (--skew)", kind, _LISTS["skew"][0].split(","))
    return tuple(
        DatasetName.parse(f"{kind}:{scale}@{degree / 2:g}")
        for kind in kinds
        for scale in _numbers("scale", options)
        for degree in _numbers("degree", options)
    )


def _words(name: str, options: argparse.Namespace) -> list[str]:
    text: str = _LISTS[name][0] if getattr(options, name) is None else getattr(options, name)
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError(f"--{name} '{text}' is empty; give {_LISTS[name][1]}, as in {_LISTS[name][0]}")
    return words


def _numbers(name: str, options: argparse.Namespace) -> list[int]:
    words = _words(name, options)
    for word in words:
        if not (word.isascii() and word.isdecimal() and len(word) <= _MOST_DIGITS and int(word)):
            raise UsageError(
                f"--{name}: '{word}' must be a whole number of at most {_MOST_DIGITS} digits, above 0, as in "
                f"{_LISTS[name][0]}"
            )
    return [int(word) for word in words]
