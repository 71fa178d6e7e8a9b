"""The options of the plugin and of the command, read once into a frozen record."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import devices
from .errors import UsageError, unknown_name
from .files import user_path
from .profile import kinds
from .shard import Shard
from .workloads.graphs.catalog import FORMS, DatasetName
from .workloads.graphs.locate import data_folder
from .workloads.platforms import PLATFORMS
from .workloads.spec import FLOATS, INTEGERS

HELP = {
    "dataset": f"graph to measure on, repeatable or comma-separated: {FORMS}. Default: cora, and ogbn-arxiv "
    "(on a CPU its synthetic twin at a tenth).",
    "platform": f"library to measure, repeatable or comma-separated: {', '.join(PLATFORMS)}. Default: all.",
    "device": "auto, cpu, cuda, or one of several GPUs: cuda:1. Default: auto.",
    "hidden": "feature width, repeatable or comma-separated. Default: 256 on the Planetoid sets, "
    "128 elsewhere.",
    "dtype": f"of features and weights, repeatable or comma-separated: {', '.join(FLOATS)}. "
    "Default: float32.",
    "index-dtype": "of the graph's structure, repeatable or comma-separated: int64, int32. Default: int64.",
    "data": "folder of real data sets, only read (also the variable GNNBENCH_DATA).",
    "precision": "stop measuring when the 99% interval of a benchmark's time is this close: 2% or 0.02. "
    "Default: 2%.",
    "layouts": "sample: re-allocate the inputs between blocks of rounds; one: time them where they are; off: "
    "leave timing to pytest-benchmark. Default: sample for gnnbench's own benchmarks, off for others.",
    "l2": "flush or keep the GPU's L2 cache between rounds. Default: flush.",
    "effect": "change that matters to --benchmark-compare: 3% or 0.03. Default: 3%.",
    "confirm": "fresh processes in which --benchmark-compare times again what looks slower, before it fails. "
    "Default: 3.",
    "counters": "count operators, copies, library and Python calls instead of timing, and fail what differs "
    "from baselines/counters; --gnn-counters=update records them.",
    "profile": f"profile instead of timing, repeatable or comma-separated: {', '.join(kinds.KINDS)}.",
    "epochs": "calls to profile after the first. Default: 10.",
    "profile-folder": "where profiles are saved. Default: .benchmarks/profiles.",
    "shard": "run only part I of N, as in 1/4: each test belongs to one by its id, and all together "
    "are the whole.",
    "strict": "fail what could not be judged: undecided and incomparable benchmarks, those that vanished, no "
    "timings or counters recorded for these versions, nothing judged.",
    "real": "fail where a real data set cannot be had, instead of using its synthetic twin.",
}
"""Option: help text; the plugin puts --gnn- before it, the command --."""

LISTS = ("dataset", "platform", "hidden", "dtype", "index-dtype", "profile")
"""Those that may be repeated."""

FLAGS = ("real", "strict")
"""Those without a value."""

COUNTERS = ("check", "update")
LAYOUTS = ("sample", "one", "off")
L2 = ("flush", "keep")
PRECISION = 0.02
EFFECT = 0.03
CONFIRM = 3
EPOCHS = 10
PROFILES = Path(".benchmarks", "profiles")

_CPU_DATASETS = ("cora", "ogbn-arxiv:synthetic@0.1")
_CUDA_DATASETS = ("cora", "ogbn-arxiv")


@dataclass(frozen=True)
class Options:
    """What the user asked for, checked; nothing is loaded or downloaded yet."""

    datasets: tuple[DatasetName, ...]
    platforms: tuple[str, ...]
    device: str
    """`cpu` or `cuda`."""
    gpu: int | None
    """Which of the GPUs that CUDA sees, where one was chosen; None: its first."""
    hidden: tuple[int, ...]
    """Empty: each data set's own default."""
    dtypes: tuple[str, ...]
    index_dtypes: tuple[str, ...]
    data_root: Path | None
    real_only: bool
    counters: str | None
    """`check` or `update`; None: time instead."""
    strict: bool
    precision: float
    """Half-width of the interval at which to stop measuring, as a fraction."""
    layouts: str | None
    """One of LAYOUTS; None: sampled for the suite's own benchmarks, off for others."""
    flush_l2: bool
    effect: float
    """Change that matters, as a fraction."""
    confirm: int
    """Fresh processes that time again what looks slower."""
    profile: tuple[str, ...]
    """Kinds of profiles to take; empty: time instead."""
    epochs: int
    """Calls to profile after the first."""
    profile_folder: Path
    shard: Shard | None
    """Part of the tests to run; None: all."""

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
        strict: bool = False,
        precision: str | None = None,
        layouts: str | None = None,
        l2: str | None = None,
        effect: str | None = None,
        confirm: str | None = None,
        profile: Sequence[str] = (),
        epochs: str | None = None,
        profile_folder: str | None = None,
        shard: str | None = None,
    ) -> "Options":
        """Read the options' texts.

        Raises:
            UsageError: a name that is not known, with the nearest ones; a GPU that is not there; a data
                folder that is not there; a width that is not a positive whole number; a fraction that is
                none; options that contradict each other.
        """
        kinds_of_profile = kinds.parse(profile)
        if kinds_of_profile and counters:
            raise UsageError("give --gnn-profile or --gnn-counters: a profile has the counts too")
        if counters not in (None, *COUNTERS):
            raise unknown_name("value of --gnn-counters", counters, COUNTERS)
        if layouts not in (None, *LAYOUTS):
            raise unknown_name("value of --gnn-layouts", layouts, LAYOUTS)
        if l2 not in (None, *L2):
            raise unknown_name("value of --gnn-l2", l2, L2)
        resolved, gpu = devices.resolve(device or "auto")
        defaults = _CUDA_DATASETS if resolved == "cuda" else _CPU_DATASETS
        return cls(
            datasets=tuple(DatasetName.parse(name) for name in _split(dataset) or defaults),
            platforms=_known("platform", _split(platform), PLATFORMS) or tuple(PLATFORMS),
            device=resolved,
            gpu=gpu,
            hidden=tuple(dict.fromkeys(map(_width, _split(hidden)))),
            dtypes=_known("dtype", _split(dtype), FLOATS) or FLOATS[:1],
            index_dtypes=_known("index dtype", _split(index_dtype), INTEGERS) or INTEGERS[:1],
            data_root=data_folder(data),
            real_only=real,
            counters=counters,
            strict=strict,
            precision=fraction("precision", precision) if precision else PRECISION,
            layouts=layouts,
            flush_l2=l2 != "keep",
            effect=fraction("effect", effect) if effect else EFFECT,
            confirm=_count(confirm) if confirm else CONFIRM,
            profile=kinds_of_profile,
            epochs=_whole("epochs", epochs, EPOCHS) if epochs else EPOCHS,
            profile_folder=user_path(profile_folder) if profile_folder else PROFILES,
            shard=None if shard is None else Shard.parse(shard),
        )


def _split(texts: Sequence[str]) -> tuple[str, ...]:
    """Join repeated options and comma-separated lists, each name once."""
    names = (name.strip() for text in texts for name in text.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _known(kind: str, names: tuple[str, ...], known: Iterable[str]) -> tuple[str, ...]:
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)
    return names


def fraction(name: str, text: str) -> float:
    """Read `3%` or `0.03`."""
    number, percent, rest = text.strip().partition("%")
    try:
        fraction = float(number) / (100 if percent else 1)
    except ValueError:
        fraction = math.nan
    if rest or not 0 < fraction < 1:
        raise UsageError(f"{name} '{text}' must lie between 0 and 1, as in 2% or 0.02")
    return fraction


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


def suite(arguments: Sequence[str], command: str) -> list[str]:
    """Return pytest's arguments: with the folder benchmarks, where none of them names a path.

    Args:
        arguments: as they were given.
        command: that they were given to.

    Raises:
        UsageError: there is no such folder either.
    """
    # A word after an option may be its value.
    pairs = zip(("", *arguments), arguments, strict=False)
    words = [word for before, word in pairs if not before.startswith("-")]
    named = any(os.path.exists(word.partition("::")[0]) for word in words)  # noqa: PTH110 - False for any text
    if not named and not Path("benchmarks").is_dir():
        raise UsageError(f"no folder benchmarks here; name the suite: {command} -- PATH")
    return list(arguments) if named else ["benchmarks", *arguments]
