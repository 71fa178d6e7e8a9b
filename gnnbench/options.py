"""The options of the plugin and the command: their help texts, and how their values are read."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import devices, units
from .errors import UsageError, unknown_name
from .files import above, user_path
from .profile import kinds
from .shard import Shard
from .variants import variant
from .variants.variant import Variant
from .workloads.graphs.catalog import FORMS, DatasetName
from .workloads.graphs.locate import data_folder
from .workloads.platforms import PLATFORMS
from .workloads.spec import FLOATS, INTEGERS

HELP = {
    "dataset": f"graph to measure on; repeatable or comma-separated: {FORMS}. Default: cora and ogbn-arxiv "
    "(on a CPU ogbn-arxiv:synthetic@0.1, a synthetic stand-in of a tenth of the size).",
    "platform": f"library to measure; repeatable or comma-separated: {', '.join(PLATFORMS)}. Default: all.",
    "device": "cpu, cuda, one GPU of several (cuda:1), or auto. Default: auto, a GPU if there is one.",
    "hidden": "number of features; repeatable or comma-separated. Default: 256 on the Planetoid data sets, "
    "16 on aifb, 128 on others.",
    "dtype": f"type of features and weights; repeatable or comma-separated: {', '.join(FLOATS)}. "
    "Default: float32.",
    "index-dtype": "type of the graph's structure; repeatable or comma-separated: int64, int32. "
    "Default: int64.",
    "data": "folder with the real data sets; gnnbench never writes to it. Default: the variable "
    "GNNBENCH_DATA.",
    "precision": "stop measuring a benchmark when its time is known to within this fraction (half-width of "
    "the 99% interval): 2% or 0.02. Default: 2%.",
    "time": "time for all benchmarks together, as in 4min or 240: each gets a part of it, with its check, "
    "and ends early when it is precise; five rounds of a slow one may take longer. Default: "
    "--benchmark-max-time for each.",
    "layouts": "sample: copy the inputs to new memory between blocks of rounds; one: never copy them; off: "
    "use pytest-benchmark's own timing. Default: sample for gnnbench's own benchmarks, off for others.",
    "l2": "flush the GPU's L2 cache before each round, or keep it. Default: flush.",
    "effect": "minimum effect of interest for --benchmark-compare: 3% or 0.03. Default: 3%.",
    "turns": "auto: --benchmark-compare builds the code of the baseline again, and times benchmarks whose "
    "code changed in turns with it; never: it compares with the baseline's times. Default: auto.",
    "budget": "seconds for all benchmarks together that --benchmark-compare times in turns. Default: 300.",
    "dry-run": "time nothing; say what --benchmark-compare would time in turns, and for how long at most.",
    "confirm": "number of new processes in which --benchmark-compare times a benchmark again if it looks "
    "slower, before its test fails. Default: 3.",
    "counters": "count operators, copies, library calls and Python calls instead of timing, and fail "
    "benchmarks whose counts differ from baselines/counters; --gnn-counters=update records the counts.",
    "growth": "compare the state after 50 calls with that after 5 instead of timing, and fail benchmarks "
    "that leave more and more behind (tensors, Python objects, other memory) or take longer and longer.",
    "profile": f"profile instead of timing; repeatable or comma-separated: {', '.join(kinds.KINDS)}.",
    "epochs": "number of profiled calls, after a first call that is shown separately. Default: 10.",
    "profile-folder": "folder in which profiles are saved. Default: .benchmarks/profiles.",
    "all": "run all of gnnbench's own benchmarks, and first say how long they take. Default: those with the "
    "marker `default`, at least one for each operation, unless a test id or -m selects others.",
    "shard": "run only part I of N, as in 1/4. Each test belongs to exactly one part, by a hash of its id.",
    "affected-by": "run only the benchmarks whose executed code differs between VARIANT and the working "
    "tree, as in git:main; the others are deselected.",
    "strict": "fail benchmarks that are undecided, incomparable or missing; fail the run if nothing could be "
    "compared, also where no record has these tests, or if there are no counters for the installed versions.",
    "real": "fail if a real data set is unavailable, instead of using a synthetic stand-in.",
}
"""Help text by option. The plugin's options begin with --gnn-, those of the command with --."""

LISTS = ("dataset", "platform", "hidden", "dtype", "index-dtype", "profile")
"""Options that may be repeated."""

REMOVED = dict.fromkeys(
    ("instructions", "instructions-limit"), "gnnbench ab BASE HEAD --instructions counts those of both sides"
)
"""What replaces options of earlier versions, by option; for one release it is said where one is given."""

FLAGS = ("all", "dry-run", "growth", "real", "strict")
"""Options without a value."""

COUNTERS = ("check", "update")
LAYOUTS = ("sample", "one", "off")
L2 = ("flush", "keep")
TURNS = ("auto", "never")
PRECISION = 0.02
EFFECT = 0.03
CONFIRM = 3
TURNS_SECONDS = 300.0
EPOCHS = 10
TIMEOUT_SECONDS = 120.0
"""How long a child process may be silent."""
PROFILES = Path(".benchmarks", "profiles")

_DATASETS = {"cpu": ("cora", "ogbn-arxiv:synthetic@0.1"), "cuda": ("cora", "ogbn-arxiv")}
"""The graphs by device, unless --gnn-dataset names others or an operation has its own."""


@dataclass(frozen=True)
class Options:
    """The checked values of the options. No data is loaded or downloaded yet."""

    datasets: tuple[DatasetName, ...]
    """The graphs that --gnn-dataset names; empty: those of each operation, see `graphs`."""
    platforms: tuple[str, ...]
    device: str
    """`cpu` or `cuda`."""
    gpu: int | None
    """Number of the chosen GPU as CUDA counts them; None: the first."""
    hidden: tuple[int, ...]
    """Numbers of features; empty: the default of each data set."""
    dtypes: tuple[str, ...]
    index_dtypes: tuple[str, ...]
    data_root: Path | None
    real_only: bool
    counters: str | None
    """`check` or `update`; None: time instead."""
    growth: bool
    """Whether to measure growth instead of time."""
    strict: bool
    precision: float
    """Measuring stops at this half-width of the interval, a fraction of the time."""
    time_seconds: float | None
    """For all benchmarks of a session together; None: each has `--benchmark-max-time`."""
    layouts: str | None
    """One of LAYOUTS; None: `sample` for gnnbench's own benchmarks, `off` for others."""
    flush_l2: bool
    effect: float
    """Minimum effect of interest, a fraction."""
    turns: bool
    """Whether --benchmark-compare times benchmarks in turns with the code of the baseline."""
    budget_seconds: float
    """For the benchmarks that are timed in turns, all together."""
    dry_run: bool
    confirm: int
    """Number of new processes that time a benchmark again if it looks slower."""
    profile: tuple[str, ...]
    """Kinds of profiles to take; empty: time instead."""
    epochs: int
    """Number of profiled calls, without the first call."""
    profile_folder: Path
    all_benchmarks: bool
    """Whether all of gnnbench's own benchmarks run, and not the default ones only."""
    shard: Shard | None
    """Part of the tests to run; None: all."""
    affected_by: Variant | None
    """Only benchmarks that run other code than this variant does are run; None: all."""

    @classmethod
    def parse(
        cls,
        *,
        dataset: Sequence[str] = (),
        platform: Sequence[str] = (),
        device: str | None = None,
        hidden: Sequence[str] = (),
        dtype: Sequence[str] = (),
        index_dtype: Sequence[str] = (),
        data: str | None = None,
        real: bool = False,
        counters: str | None = None,
        growth: bool = False,
        strict: bool = False,
        precision: str | None = None,
        time: str | None = None,
        layouts: str | None = None,
        l2: str | None = None,
        effect: str | None = None,
        turns: str | None = None,
        budget: str | None = None,
        dry_run: bool = False,
        confirm: str | None = None,
        profile: Sequence[str] = (),
        epochs: str | None = None,
        profile_folder: str | None = None,
        all: bool = False,  # noqa: A002 - the option's name
        shard: str | None = None,
        affected_by: str | None = None,
    ) -> "Options":
        """Read the options as they were typed.

        Raises:
            UsageError: a name is unknown, a GPU or the data folder does not exist, a number or fraction is
                out of range, or two options exclude each other.
        """
        kinds_of_profile = kinds.parse(profile)
        if kinds_of_profile and counters:
            raise UsageError("--gnn-profile counts too; leave out --gnn-counters")
        if growth and (kinds_of_profile or counters):
            other = "--gnn-profile" if kinds_of_profile else "--gnn-counters"
            raise UsageError(f"--gnn-growth makes calls of its own; leave out {other}")
        if counters not in (None, *COUNTERS):
            raise unknown_name("value of --gnn-counters", counters, COUNTERS)
        if layouts not in (None, *LAYOUTS):
            raise unknown_name("value of --gnn-layouts", layouts, LAYOUTS)
        if l2 not in (None, *L2):
            raise unknown_name("value of --gnn-l2", l2, L2)
        if turns not in (None, *TURNS):
            raise unknown_name("value of --gnn-turns", turns, TURNS)
        resolved, gpu = devices.resolve(device or "auto")
        return cls(
            datasets=tuple(DatasetName.parse(name) for name in _split(dataset)),
            platforms=_known("platform", _split(platform), PLATFORMS) or tuple(PLATFORMS),
            device=resolved,
            gpu=gpu,
            hidden=tuple(dict.fromkeys(map(_width, _split(hidden)))),
            dtypes=_known("dtype", _split(dtype), FLOATS) or FLOATS[:1],
            index_dtypes=_known("index dtype", _split(index_dtype), INTEGERS) or INTEGERS[:1],
            data_root=data_folder(data),
            real_only=real,
            counters=counters,
            growth=growth,
            strict=strict,
            precision=fraction("precision", precision) if precision else PRECISION,
            time_seconds=_duration("time", time) if time else None,
            layouts=layouts,
            flush_l2=l2 != "keep",
            effect=fraction("effect", effect) if effect else EFFECT,
            turns=turns != "never",
            budget_seconds=_seconds("budget", budget) if budget else TURNS_SECONDS,
            dry_run=dry_run,
            confirm=_count(confirm) if confirm else CONFIRM,
            profile=kinds_of_profile,
            epochs=_whole("epochs", epochs, EPOCHS) if epochs else EPOCHS,
            profile_folder=user_path(profile_folder) if profile_folder else PROFILES,
            all_benchmarks=all,
            shard=None if shard is None else Shard.parse(shard),
            affected_by=None if affected_by is None else variant.parse(affected_by),
        )

    def graphs(self, own: Sequence[str] = ()) -> tuple[DatasetName, ...]:
        """Return the graphs that an operation runs on: those named, else its own, else the default ones.

        Args:
            own: the operation's own graphs.

        Raises:
            UsageError: one of its own graphs is unknown.
        """
        return self.datasets or tuple(map(DatasetName.parse, own or _DATASETS[self.device]))


def _split(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a repeated option, each of which may be a list with commas, without duplicates."""
    names = (name.strip() for text in texts for name in text.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _known(kind: str, names: tuple[str, ...], known: Iterable[str]) -> tuple[str, ...]:
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)
    return names


def fraction(name: str, text: str) -> float:
    """Read `3%` or `0.03` as 0.03.

    Raises:
        UsageError: the text is no number between 0 and 1; the message names the option.
    """
    found = units.read_fraction(text)
    if found is None:
        raise UsageError(f"{name} '{text}' must lie between 0 and 1, as in 2% or 0.02")
    return found


def _seconds(name: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise UsageError(f"{name} '{text}' must be a positive number of seconds, as in 300")
    return seconds


def _duration(name: str, text: str) -> float:
    found = units.read_seconds(text if text.strip()[-1:].isalpha() else f"{text} s")
    if found is None:
        raise UsageError(f"{name} '{text}' must be a time, as in 4min or 240")
    return found


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise UsageError(f"confirm '{text}' must be a whole number of processes, as in 3; 0 for none")
    return int(text)


def _width(text: str) -> int:
    return _whole("hidden width", text, 128)


def _whole(name: str, text: str, example: int) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) == 0:
        raise UsageError(f"{name} '{text}' must be a whole number of at least 1, as in {example}")
    return int(text)


def with_suite(arguments: Sequence[str], command: str) -> list[str]:
    """Return pytest's arguments, and add the folder `benchmarks` if none of them names a path.

    It is that of the current folder, or of the nearest above it in the repository.

    Args:
        arguments: what the user gave after `--`.
        command: the command in the message, such as `gnnbench calibrate`.

    Raises:
        UsageError: no path is named, and there is no folder `benchmarks`.
    """
    # A word after an option may be its value.
    pairs = zip(("", *arguments), arguments, strict=False)
    words = [word for before, word in pairs if not before.startswith("-")]
    named = any(os.path.exists(word.partition("::")[0]) for word in words)  # noqa: PTH110 - False for any text
    if named:
        return list(arguments)
    found = nearest("benchmarks")
    if found is None:
        raise UsageError(f"no folder benchmarks here; give the path of the suite: {command} -- PATH")
    return [found, *arguments]


def nearest(path: str) -> str | None:
    """Return a path as it is typed here: that of the nearest folder that has it, from here up."""
    found = (folder / path for folder in above(Path.cwd()))
    return next((os.path.relpath(one) for one in found if one.exists()), None)
