"""The options: each is described once, for pytest, the commands and a project's settings."""

# ruff: noqa: RUF009 - `described` returns a field of dataclasses

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from operator import eq
from pathlib import Path
from typing import Any, Self

from . import devices, units
from .errors import UsageError, unknown_name
from .files import user_path
from .shard import Shard

EFFECT = 0.03
TIMEOUT_SECONDS = 120.0
"""How long a child process may be silent."""
_FRACTION = "lie between 0 and 1, as in 2% or 0.02"
_SECONDS = "be a positive number of seconds, as in 300"
PROFILE_KINDS = {
    "phases": "forward, loss, backward and optimizer.step",
    "layers": "the parts of each convolution",
    "functions": "Python functions, measured by cProfile",
    "kernels": "GPU kernels, and host-device synchronisations",
    "trace": "a trace for Perfetto and TensorBoard, and where the time goes",
    "ranges": "layers and phases as ranges of record_function and NVTX",
}
"""Description by kind."""


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
    one_run: bool = False
    """Whether it says what one run does: settings have no default for it."""
    compares: bool = False
    """Whether it is about --benchmark-compare."""
    untimed: bool = False
    """Whether nothing is timed with it."""
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

    def declare(self, add: Callable[..., Any], prefix: str = "") -> None:
        """Declare the option."""
        flag = f"--{prefix}{self.name}"
        words: dict[str, Any] = {"metavar": self.metavar}
        if self.is_flag:
            words = {"action": argparse.BooleanOptionalAction}
        elif self.is_list:
            words |= {"action": "append", "default": []}
        elif self.bare:
            words |= {"nargs": "?", "const": self.bare}
        text = self.help.replace("%", "%%")  # argparse applies % formatting
        add(flag, dest=f"{prefix}{self.name}".replace("-", "_"), help=text, **words)

    def described(self, text: str) -> "Option":
        """Return the option with another help."""
        return replace(self, help=text)

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


def seconds(name: str, default: float | None, text: str) -> Option:
    """Return an option of a command that takes a time."""
    usual = "" if default is None else f". Default: {default:.0f}."
    typed = None if default is None else f"{default:.0f}"
    return Option(name, "S", typed, _duration, _SECONDS, help=f"{text}{usual}")


def _duration(text: str) -> float | None:
    return units.read_seconds(text if text.strip()[-1:].isalpha() else f"{text} s")


def whole(text: str) -> int | None:
    """Read a whole number; return None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() else None


def _positive(text: str) -> int | None:
    return whole(text) or None


def _profile_kind(name: str) -> str:
    """Return the name of a kind."""
    if name not in PROFILE_KINDS:
        raise UsageError(f"unknown kind of profile '{name}': choose from {', '.join(PROFILE_KINDS)}")
    return name


def described(option: Option, text: str) -> Any:
    """Return the field of a dataclass for an option."""
    return field(metadata={"option": replace(option, help=text)})


@dataclass(frozen=True)
class Options:
    """The checked values of the options. No data is loaded or downloaded yet."""

    gpu: int | None
    """Number of the GPU that --gnn-device names, as CUDA counts them; None: the first."""
    device: str = described(
        Option("device", "NAME", "auto", devices.resolve, passed_on=True),
        "cpu, cuda, one GPU of several (cuda:1), or auto. Default: auto, a GPU if there is one.",
    )
    """`cpu` or `cuda`."""
    precision: float = described(
        Option("precision", "P", "2%", units.read_fraction, _FRACTION),
        "stop measuring a benchmark when its time is known to within this fraction (half-width of the 99% "
        "interval): 2% or 0.02. Default: 2%.",
    )
    """Measuring stops at this half-width of the interval, a fraction of the time."""
    time_seconds: float | None = described(
        Option("time", "TIME", None, _duration, "be a time, as in 4min or 240"),
        "time for all benchmarks together, as in 4min or 240: each gets a part of it, with its check, and "
        "ends early when it is precise; five rounds of a slow one may take longer. Default: "
        "--benchmark-max-time for each.",
    )
    layouts: str | None = described(
        Option("layouts", "HOW", None, choices=("sample", "one", "off")),
        "sample: copy the inputs to new memory between blocks of rounds; one: never copy them; off: use "
        "pytest-benchmark's own timing. Default: sample for gnnbench's own benchmarks, off for others.",
    )
    flush_l2: bool = described(
        Option("l2", "HOW", "flush", partial(eq, "flush"), choices=("flush", "keep")),
        "flush the GPU's L2 cache before each round, or keep it. Default: flush.",
    )
    effect: float = described(
        Option("effect", "E", f"{EFFECT:.0%}", units.read_fraction, _FRACTION, compares=True),
        "minimum effect of interest for --benchmark-compare: 3% or 0.03. Default: 3%.",
    )
    turns: bool = described(
        Option("turns", "HOW", "auto", partial(eq, "auto"), choices=("auto", "never"), compares=True),
        "auto: --benchmark-compare builds the code of the baseline again, and times benchmarks whose code "
        "changed in turns with it; never: it compares with the baseline's times. Default: auto.",
    )
    results: bool = described(
        Option("results", "", True, compares=True),
        "compare what both sides return where --benchmark-compare times them in turns. Default: compare.",
    )
    budget_seconds: float = described(
        Option("budget", "S", "300", _duration, _SECONDS, compares=True),
        "seconds for all benchmarks together that --benchmark-compare times in turns. Default: 300.",
    )
    confirm: int = described(
        Option(
            "confirm", "N", "3", whole, "be a whole number of processes, as in 3; 0 for none", compares=True
        ),
        "number of new processes in which --benchmark-compare times a benchmark again if it looks slower, "
        "before its test fails. Default: 3.",
    )
    build: str | None = described(
        Option("build", "CMD", None, compares=True),
        "build both versions by this shell command, each in a copy of its own, as in 'pip install .'; builds "
        "are kept. Default: nothing is built.",
    )
    shard: Shard | None = described(
        Option("shard", "I/N", None, Shard.parse, one_run=True),
        "run only part I of N, as in 1/4. Each test belongs to exactly one part, by a hash of its id.",
    )
    strict: bool = described(
        Option("strict", "", False, compares=True),
        "fail benchmarks that are undecided, incomparable or missing; fail the run if nothing could be "
        "compared, also where no record has these tests, or if there are no counters for the installed "
        "versions.",
    )

    @classmethod
    def parse(cls, **typed: Any) -> Self:
        """Read the options as they were typed, by key.

        Of those that are missing, None or empty, the default is taken.
        """
        values = values_of(cls, typed)
        values["device"], values["gpu"] = values["device"]
        return cls(**values)


def table_of(options: type[Any]) -> dict[str, Option]:
    """Return the options of a dataclass by name."""
    return {option.name: option for one in fields(options) if (option := one.metadata.get("option"))}


def values_of(options: type[Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a dataclass of options, from what was typed by key."""
    table = {one.name: one.metadata["option"] for one in fields(options) if one.metadata}
    return {name: option.value(typed.get(option.key)) for name, option in table.items()}


OPTIONS: Mapping[str, Option] = table_of(Options)
"""The options by name, without those of a suite."""


@dataclass(frozen=True)
class ProfileOptions:
    """The checked values of options that `gnnbench profile` alone has."""

    kinds: tuple[str, ...] = described(
        Option("with", "KIND", ("phases", "layers"), _profile_kind),
        f"kind of profile; repeatable or comma-separated: {', '.join(PROFILE_KINDS)}. Default: "
        "phases,layers.",
    )
    repeats: int = described(
        Option("epochs", "N", "10", _positive, "be a whole number of at least 1, as in 10"),
        "number of profiled calls, after a first call that is shown separately. Default: 10.",
    )
    folder: Path = described(
        Option("folder", "DIR", ".benchmarks/profiles", user_path, path=""),
        "folder in which profiles are saved. Default: .benchmarks/profiles.",
    )


PROFILE_OPTIONS: Mapping[str, Option] = table_of(ProfileOptions)
"""These options by name."""
