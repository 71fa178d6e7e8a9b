"""The table of options: each is described once, for pytest, the commands and a project's settings."""

# ruff: noqa: RUF009 - `_option` returns a field of dataclasses

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from operator import eq
from pathlib import Path
from typing import Any

from . import devices, units
from .errors import UsageError, unknown_name
from .files import user_path
from .profile import kinds
from .shard import Shard
from .workloads.graphs.catalog import FORMS, DatasetName
from .workloads.graphs.locate import data_folder
from .workloads.platforms import PLATFORMS
from .workloads.spec import FLOATS, INTEGERS

EFFECT = 0.03
TIMEOUT_SECONDS = 120.0
"""How long a child process may be silent."""
_FRACTION = "lie between 0 and 1, as in 2% or 0.02"
_DATASETS = {"cpu": ("cora", "ogbn-arxiv:synthetic@0.1"), "cuda": ("cora", "ogbn-arxiv")}
"""The graphs by device, unless --gnn-dataset names others or an operation has its own."""


@dataclass(frozen=True)
class Option:
    """What is typed, and where."""

    name: str
    """`--gnn-NAME` of pytest, `--NAME` of commands; its key in settings has `_` for `-`."""
    metavar: str
    default: Any
    """As it is typed. True or False: it is a flag, without a value. A tuple: a list, may be repeated."""
    read: Callable[[str], Any] = str
    """Returns what a text means, or raises a UsageError; flags have none."""
    form: str = ""
    """What a text must do of which `read` makes None, for the message."""
    choices: Sequence[str] = ()
    """The texts that it may be; empty: `read` decides."""
    bare: str | None = None
    """The text that it stands for without one; None: it needs one."""
    path: str | None = None
    """How texts end that are paths: settings give them relative to their file. None: there are none."""
    in_commands: str = ""
    """Its name in commands, if it is another."""
    one_run: bool = False
    """Whether it says what one run does: settings have no default for it."""
    compares: bool = False
    """Whether it is about --benchmark-compare."""
    passed_on: bool = False
    """Whether `gnnbench profile` passes it on to the pytest that it starts."""
    help: str = ""

    @property
    def key(self) -> str:
        """Its key in settings, and its name for `Options.parse`."""
        return self.name.replace("-", "_")

    @property
    def is_flag(self) -> bool:
        """Whether it has no value."""
        return isinstance(self.default, bool)

    @property
    def is_list(self) -> bool:
        """Whether it may be repeated, or have several texts with commas between them."""
        return isinstance(self.default, tuple)

    def declare(self, add: Callable[..., Any], prefix: str = "", text: str = "") -> None:
        """Declare the option."""
        flag = f"--{prefix}{self.name if prefix else self.in_commands or self.name}"
        words: dict[str, Any] = {"metavar": self.metavar}
        if self.is_flag:
            words = {"action": argparse.BooleanOptionalAction}
        elif self.is_list:
            words |= {"action": "append", "default": []}
        elif self.bare:
            words |= {"nargs": "?", "const": self.bare}
        text = (text or self.help).replace("%", "%%")  # argparse applies % formatting
        add(flag, dest=f"{prefix}{self.name}".replace("-", "_"), help=text, **words)

    def value(self, typed: Any) -> Any:
        """Return what is meant by what was typed: a text, several, or a flag's state; None: the default."""
        if self.is_list:
            names = [name.strip() for text in typed or () for name in text.split(",")]
            return tuple(dict.fromkeys(map(self._read, [name for name in names if name] or self.default)))
        if typed is None or (not typed and not self.is_flag and self.default is not None):
            typed = self.default
        return typed if self.is_flag or typed is None else self._read(typed)

    def _read(self, text: str) -> Any:
        if self.choices and text not in self.choices:
            kind = self.name.replace("-", " ") if self.is_list else f"value of --gnn-{self.name}"
            raise unknown_name(kind, text, self.choices)
        found = self.read(text)
        if found is None and self.form:
            raise UsageError(f"{self.name} '{text}' must {self.form}")
        return found


def _duration(text: str) -> float | None:
    return units.read_seconds(text if text.strip()[-1:].isalpha() else f"{text} s")


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


def _positive(text: str) -> int | None:
    return _whole(text) or None


def _width(text: str) -> int:
    if width := _whole(text):
        return width
    raise UsageError(f"hidden width '{text}' must be a whole number of at least 1, as in 128")


def _option(option: Option, text: str) -> Any:
    return field(metadata={"option": replace(option, help=text)})


@dataclass(frozen=True)
class Options:
    """The checked values of the options. No data is loaded or downloaded yet."""

    gpu: int | None
    """Number of the GPU that --gnn-device names, as CUDA counts them; None: the first."""
    datasets: tuple[DatasetName, ...] = _option(
        Option("dataset", "NAME", (), DatasetName.parse, path=".mtx", passed_on=True),
        f"graph to measure on; repeatable or comma-separated: {FORMS}. Default: cora and ogbn-arxiv "
        "(on a CPU ogbn-arxiv:synthetic@0.1, a synthetic stand-in of a tenth of the size).",
    )
    """Empty: those of each operation, see `graphs`."""
    platforms: tuple[str, ...] = _option(
        Option("platform", "NAME", tuple(PLATFORMS), choices=tuple(PLATFORMS), passed_on=True),
        f"library to measure; repeatable or comma-separated: {', '.join(PLATFORMS)}. Default: all.",
    )
    device: str = _option(
        Option("device", "NAME", "auto", devices.resolve, passed_on=True),
        "cpu, cuda, one GPU of several (cuda:1), or auto. Default: auto, a GPU if there is one.",
    )
    """`cpu` or `cuda`."""
    hidden: tuple[int, ...] = _option(
        Option("hidden", "N", (), _width, passed_on=True),
        "number of features; repeatable or comma-separated. Default: 256 on the Planetoid data sets, "
        "16 on aifb, 128 on others.",
    )
    """Empty: the default of each data set."""
    dtypes: tuple[str, ...] = _option(
        Option("dtype", "NAME", FLOATS[:1], choices=FLOATS, passed_on=True),
        f"type of features and weights; repeatable or comma-separated: {', '.join(FLOATS)}. "
        "Default: float32.",
    )
    index_dtypes: tuple[str, ...] = _option(
        Option("index-dtype", "NAME", INTEGERS[:1], choices=INTEGERS, passed_on=True),
        "type of the graph's structure; repeatable or comma-separated: int64, int32. Default: int64.",
    )
    data_root: Path | None = _option(
        Option("data", "ROOT", "", data_folder, path="", passed_on=True),
        "folder with the real data sets; gnnbench never writes to it. Default: the variable GNNBENCH_DATA.",
    )
    precision: float = _option(
        Option("precision", "P", "2%", units.read_fraction, _FRACTION),
        "stop measuring a benchmark when its time is known to within this fraction (half-width of the 99% "
        "interval): 2% or 0.02. Default: 2%.",
    )
    """Measuring stops at this half-width of the interval, a fraction of the time."""
    time_seconds: float | None = _option(
        Option("time", "TIME", None, _duration, "be a time, as in 4min or 240"),
        "time for all benchmarks together, as in 4min or 240: each gets a part of it, with its check, and "
        "ends early when it is precise; five rounds of a slow one may take longer. Default: "
        "--benchmark-max-time for each.",
    )
    layouts: str | None = _option(
        Option("layouts", "HOW", None, choices=("sample", "one", "off")),
        "sample: copy the inputs to new memory between blocks of rounds; one: never copy them; off: use "
        "pytest-benchmark's own timing. Default: sample for gnnbench's own benchmarks, off for others.",
    )
    flush_l2: bool = _option(
        Option("l2", "HOW", "flush", partial(eq, "flush"), choices=("flush", "keep")),
        "flush the GPU's L2 cache before each round, or keep it. Default: flush.",
    )
    effect: float = _option(
        Option("effect", "E", f"{EFFECT:.0%}", units.read_fraction, _FRACTION, compares=True),
        "minimum effect of interest for --benchmark-compare: 3% or 0.03. Default: 3%.",
    )
    turns: bool = _option(
        Option("turns", "HOW", "auto", partial(eq, "auto"), choices=("auto", "never"), compares=True),
        "auto: --benchmark-compare builds the code of the baseline again, and times benchmarks whose code "
        "changed in turns with it; never: it compares with the baseline's times. Default: auto.",
    )
    results: bool = _option(
        Option("results", "", True, compares=True),
        "compare what both sides return where --benchmark-compare times them in turns. Default: compare.",
    )
    budget_seconds: float = _option(
        Option("budget", "S", "300", _duration, "be a positive number of seconds, as in 300", compares=True),
        "seconds for all benchmarks together that --benchmark-compare times in turns. Default: 300.",
    )
    dry_run: bool = _option(
        Option("dry-run", "", False, one_run=True, compares=True),
        "time nothing; say what --benchmark-compare would time in turns, and for how long at most.",
    )
    confirm: int = _option(
        Option(
            "confirm", "N", "3", _whole, "be a whole number of processes, as in 3; 0 for none", compares=True
        ),
        "number of new processes in which --benchmark-compare times a benchmark again if it looks slower, "
        "before its test fails. Default: 3.",
    )
    counters: str | None = _option(
        Option("counters", "check|update", None, choices=("check", "update"), bare="check", one_run=True),
        "count operators, copies, library calls and Python calls instead of timing, and fail benchmarks "
        "whose counts differ from baselines/counters; --gnn-counters=update records the counts.",
    )
    profile: tuple[str, ...] = _option(
        Option("profile", "KIND", (), kinds.known, in_commands="with", one_run=True),
        f"profile instead of timing; repeatable or comma-separated: {', '.join(kinds.KINDS)}.",
    )
    epochs: int = _option(
        Option("epochs", "N", "10", _positive, "be a whole number of at least 1, as in 10"),
        "number of profiled calls, after a first call that is shown separately. Default: 10.",
    )
    profile_folder: Path = _option(
        Option("profile-folder", "DIR", ".benchmarks/profiles", user_path, path="", in_commands="folder"),
        "folder in which profiles are saved. Default: .benchmarks/profiles.",
    )
    all_benchmarks: bool = _option(
        Option("all", "", False),
        "run all of gnnbench's own benchmarks, and first say how long they take. Default: those with the "
        "marker `default`, at least one for each operation, unless a test id or -m selects others.",
    )
    shard: Shard | None = _option(
        Option("shard", "I/N", None, Shard.parse, one_run=True),
        "run only part I of N, as in 1/4. Each test belongs to exactly one part, by a hash of its id.",
    )
    strict: bool = _option(
        Option("strict", "", False, compares=True),
        "fail benchmarks that are undecided, incomparable or missing; fail the run if nothing could be "
        "compared, also where no record has these tests, or if there are no counters for the installed "
        "versions.",
    )
    real_only: bool = _option(
        Option("real", "", False, passed_on=True),
        "fail if a real data set is unavailable, instead of using a synthetic stand-in.",
    )

    @classmethod
    def parse(cls, **typed: Any) -> "Options":
        """Read the options as they were typed.

        Args:
            typed: by key; of those that are missing, None or empty, the default is taken.
        """
        options = {one.name: one.metadata["option"] for one in fields(cls) if one.metadata}
        values = {name: option.value(typed.get(option.key)) for name, option in options.items()}
        values["device"], values["gpu"] = values["device"]
        found = cls(**values)
        kinds.check(found.profile)
        if found.profile and found.counters:
            raise UsageError("--gnn-profile counts too; leave out --gnn-counters")
        return found

    def graphs(self, own: Sequence[str] = ()) -> tuple[DatasetName, ...]:
        """Return the graphs that an operation runs on: those named, else its own, else the default ones."""
        return self.datasets or tuple(map(DatasetName.parse, own or _DATASETS[self.device]))


OPTIONS: Mapping[str, Option] = {
    option.name: option for one in fields(Options) if (option := one.metadata.get("option"))
}
"""The options by name, in the order of `pytest --help`."""
