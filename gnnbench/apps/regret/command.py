"""`gnnbench regret [OPERATION...]`: times all ways to compute an operation, on a grid of graphs."""

import argparse
import sys
import warnings
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.cli import common, streams
from ...engine.ground.codec import as_text
from ...engine.ground.errors import UsageError, unknown_name
from ...engine.ground.files import cache_folder, check_folder, check_writable, save
from ...engine.ground.options import Option, positive, seconds
from ...engine.show.progress import Progress
from ...engine.store.option_defaults import every

if TYPE_CHECKING:
    from ...suite.graphs.catalog import DatasetName
    from .result import Regrets
    from .run import Grid

BUDGET_SECONDS = 1800.0
_KINDS = ("uniform", "rmat", "hub")
_DIRECTIONS = ("forward", "forward_backward")
_HIDDEN = ("8", "32", "64", "128")


def _short_number(text: str) -> int | None:
    return positive(text) if len(text) <= 4 else None  # noqa: PLR2004


_NUMBER = _short_number, "be a whole number from 1 to 9999, as in 8"


def _described(option: Option, text: str) -> Option:
    return option.described(f"{text}, comma-separated. Default: {','.join(option.default)}.")


_GRID = (
    _described(Option("skew", "NAME", _KINDS, choices=_KINDS), "kinds of random graphs"),
    _described(Option("scale", "N", ("10",), *_NUMBER), "graphs of 2**N nodes"),
    _described(Option("degree", "N", ("2", "4", "8", "16", "32"), *_NUMBER), "mean degrees of the nodes"),
    _described(Option("threads", "N", ("1",), *_NUMBER), "numbers of CPU threads"),
    _described(Option("direction", "NAME", _DIRECTIONS, choices=_DIRECTIONS), "directions"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "operations",
        nargs="*",
        metavar="OPERATION",
        help="operations that can be computed in several ways, such as scatter_max. Default: all of them.",
    )
    graphs = "graphs to time, in place of the random graphs that --skew, --scale and --degree define"
    shared = (
        every()["dataset"].described(graphs),
        every()["hidden"].described(f"feature widths, comma-separated. Default: {','.join(_HIDDEN)}."),
        *(every()[name] for name in ("dtype", "index-dtype", "device", "data")),
        common.EFFECT.described("treat ways that differ by less than this as equally fast. Default: 3%."),
    )
    budget = seconds("budget", BUDGET_SECONDS, "seconds for the whole run")
    common.declare(parser, (*_GRID, budget), shared)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result to FILE")
    parser.add_argument(
        "--from", dest="saved", type=Path, metavar="FILE", help="time nothing; show the result in FILE"
    )
    parser.add_argument(
        "--maps", type=Path, metavar="DIR", help="also write a map of each call to DIR, as SVG and PNG"
    )


def run(options: argparse.Namespace) -> int:
    """Measure or read a result, show it, and return the exit code."""
    from . import tables
    from .result import Regrets

    _check(options)
    interrupted = False
    if options.saved:
        regrets = Regrets.read(options.saved)
    else:
        regrets, interrupted = _measure(options)
    if options.json:
        save(options.json, as_text(regrets))
    streams.show(tables.document(regrets))
    if options.maps:
        from . import maps

        print(f"drawing maps in {options.maps}", file=sys.stderr)
        files = [*map(str, maps.write(regrets, options.maps))]
        print(*files or ["no maps: no call was timed on a random graph"], sep="\n")
    if interrupted:
        streams.say(f"gnnbench: interrupted after {len(regrets.points)} points", sys.stderr)
        return common.INTERRUPTED
    return common.NOTHING_SLOWER if any(point.fastest for point in regrets.points) else common.NOT_JUDGED


def _check(options: argparse.Namespace) -> None:
    """Check the options before anything is measured."""
    if options.maps:
        from ...engine.ground import packages

        if reason := packages.missing(packages.PAGES):
            raise UsageError(reason)
        check_folder(options.maps)
    names = [*options.operations, *(f"--{key.replace('_', '-')}" for key in options.typed)]
    if options.saved and names:
        raise UsageError(f"--from shows the whole result in {options.saved}: leave out {', '.join(names)}")
    if options.json and options.saved:
        raise UsageError("--json saves new measurements, but --from measures nothing: leave --json out")
    if options.json:
        check_writable(options.json)


def _measure(options: argparse.Namespace) -> "tuple[Regrets, bool]":
    """Measure all points; return the result, and whether the user interrupted the measurement."""
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
        warnings.simplefilter("ignore")  # libraries warn about some forced ways
        try:
            points += measuring.measure(
                grid,
                seconds=options.budget,
                effect=options.effect,
                data_root=options.data,
                cache=cache_folder(),
                clock_of=lambda devices: clock_for(devices, RealTime.seconds, flush=True),
                say=progress.step,
            )
        except KeyboardInterrupt:
            interrupted = True
    return Regrets(tuple(points), options.effect, environment.collect()), interrupted


def _grid(options: argparse.Namespace) -> "Grid":
    from .families import FAMILIES
    from .run import Grid

    operations = [name for family in FAMILIES for name in family.operations]
    names = [name for text in options.operations for name in text.split(",") if name]
    for name in names:
        if name not in operations:
            raise unknown_name("operation of gnnbench regret", name, operations)
    selection = set(names or operations)
    families = [family for family in FAMILIES if selection & set(family.operations)]
    return Grid(
        families,
        directions=options.direction,
        datasets=options.dataset or _random_graphs(options),
        hidden=options.hidden or tuple(map(int, _HIDDEN)),
        dtypes=options.dtype,
        index_dtypes=options.index_dtype,
        threads=options.threads,
        device=options.device,
    )


def _random_graphs(options: argparse.Namespace) -> "tuple[DatasetName, ...]":
    """Return graphs of each kind, scale and mean degree d; they have d / 2 undirected edges per node."""
    from ...suite.graphs.catalog import DatasetName

    grid = product(options.skew, options.scale, options.degree)
    return tuple(DatasetName.parse(f"{kind}:{scale}@{degree / 2:g}") for kind, scale, degree in grid)
