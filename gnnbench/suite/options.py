"""The options of the suite: what its benchmarks run on, and which of them run."""

# ruff: noqa: RUF009 - `described` returns a dataclass field

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..engine.ground.options import Option, Values, described, options_of, positive
from .graphs.catalog import FORMS, DatasetName
from .graphs.published import data_folder
from .platforms import PLATFORMS
from .spec import FLOATS, INTEGERS

_DATASETS = {"cpu": ("cora", "ogbn-arxiv:synthetic@0.1"), "cuda": ("cora", "ogbn-arxiv")}
"""The default graphs by device, for operations that prescribe none."""


@dataclass(frozen=True)
class SuiteOptions(Values):
    """The values of the suite's options."""

    datasets: tuple[DatasetName, ...] = described(
        Option("dataset", "NAME", (), DatasetName.parse, path=".mtx", passed_on=True),
        f"graph to measure on; repeatable or comma-separated: {FORMS}. Default: cora and ogbn-arxiv; on a "
        "CPU cora and ogbn-arxiv:synthetic@0.1, a synthetic stand-in of a tenth of the size.",
    )
    """If empty, each operation has its own graphs: see `graphs`."""
    platforms: tuple[str, ...] = described(
        Option("platform", "NAME", tuple(PLATFORMS), choices=tuple(PLATFORMS), passed_on=True),
        f"library to measure; repeatable or comma-separated: {', '.join(PLATFORMS)}. Default: all.",
    )
    hidden: tuple[int, ...] = described(
        Option("hidden", "N", (), positive, "be a whole number of at least 1, as in 128", passed_on=True),
        "number of features; repeatable or comma-separated. Default: 256 on the Planetoid data sets, "
        "16 on aifb, 128 on others.",
    )
    """If empty, each data set has its default width."""
    dtypes: tuple[str, ...] = described(
        Option("dtype", "NAME", FLOATS[:1], choices=FLOATS, passed_on=True),
        f"type of features and weights; repeatable or comma-separated: {', '.join(FLOATS)}. "
        "Default: float32.",
    )
    index_dtypes: tuple[str, ...] = described(
        Option("index-dtype", "NAME", INTEGERS[:1], choices=INTEGERS, passed_on=True),
        "integer type of the graph's indices; repeatable or comma-separated: int64, int32. Default: int64.",
    )
    data_root: Path | None = described(
        Option("data", "ROOT", "", data_folder, path="", of_machine=True, passed_on=True),
        "folder with the real data sets; gnnbench never writes to it. Default: $GNNBENCH_DATA.",
    )
    counters: str | None = described(
        Option(
            "counters", "HOW", None, choices=("check", "update"), bare="check", one_run=True, untimed=True
        ),
        "count operators, copies, library calls and Python calls instead of timing, and fail benchmarks "
        "whose counts differ from baselines/counters; --gnn-counters=update records the counts.",
    )
    all_benchmarks: bool = described(
        Option("all", "", False),
        "run all of gnnbench's own benchmarks, and first print how long they take. Default: a part of them, "
        "unless a test id or -m selects benchmarks.",
    )
    real_only: bool = described(
        Option("real", "", False, passed_on=True),
        "fail if a real data set is unavailable, instead of using a synthetic stand-in.",
    )

    def graphs(self, device: str, of_operation: Sequence[str] = ()) -> tuple[DatasetName, ...]:
        """Return the graphs that the user names, or else the operation's, or else the device's defaults."""
        return self.datasets or tuple(map(DatasetName.parse, of_operation or _DATASETS[device]))


OPTIONS = {option.name: option for option in options_of(SuiteOptions).values()}
