"""The options: each is described once, for pytest, the commands, a project's settings and docs/options.md."""

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
"""Seconds after which a child process that does not answer is stopped."""


@dataclass(frozen=True)
class Option:
    """An option of pytest and of commands, and a key in settings."""

    name: str
    """pytest has `--gnn-NAME`, commands have `--NAME`; the key in settings has `_` in place of `-`."""
    metavar: str
    default: Any
    """The default as a user would type it: True or False for a flag, a tuple for a list, else a text."""
    read: Callable[[str], Any] = str
    """Converts a text; returns None if the text lacks the `form`, or raises UsageError. Not for flags."""
    form: str = ""
    """The end of the error message `NAME 'TEXT' must ...`."""
    choices: Sequence[str] = ()
    """The allowed texts. If empty, `read` decides."""
    bare: str | None = None
    """The text to assume if the option is given without one. None if it needs a text."""
    path: str | None = None
    """Texts with this ending are paths; in settings, relative to their file. None if no text is a path."""
    one_run: bool = False
    """Whether it concerns a single run, so that settings cannot have a default for it."""
    of_machine: bool = False
    """Whether its values depend on the machine, so that settings are not checked."""
    compares: bool = False
    """Whether it only matters with --benchmark-compare."""
    untimed: bool = False
    """Whether nothing is timed if it is given."""
    passed_on: bool = False
    """Whether `gnnbench profile` passes it on to the pytest that it starts."""
    help: str = ""

    @property
    def key(self) -> str:
        """Its key in settings, and its name for `Values.parse`."""
        return self.name.replace("-", "_")

    @property
    def is_flag(self) -> bool:
        """Whether it has no value."""
        return isinstance(self.default, bool)

    @property
    def is_list(self) -> bool:
        """Whether it may be repeated, or have several texts separated by commas."""
        return isinstance(self.default, tuple)

    def declare(self, add: Callable[..., Any], prefix: str = "") -> None:
        """Declare the option to an argument parser; its value is None if the user does not type it."""
        words: dict[str, Any] = {"metavar": self.metavar}
        if self.is_flag:
            words = {"action": argparse.BooleanOptionalAction}
        elif self.is_list:
            words["action"] = "append"
        elif self.bare:
            words |= {"nargs": "?", "const": self.bare}
        add(f"--{prefix}{self.name}", help=self.help.replace("%", "%%"), **words)

    def described(self, text: str) -> "Option":
        return replace(self, help=text)

    def value(self, typed: Any) -> Any:
        """Convert what was typed: a text, a list of texts or a flag. If None, return the default's value."""
        if self.is_list:
            names = [name.strip() for text in typed or () for name in text.split(",")]
            return tuple(dict.fromkeys(map(self._read, [name for name in names if name] or self.default)))
        text = typed if typed is not None and (typed != "" or self.default is None) else self.default
        return text if self.is_flag or text is None else self._read(text)

    def _read(self, text: str) -> Any:
        if self.choices and text not in self.choices:
            noun = self.name.replace("-", " ") if self.metavar == "NAME" else self.metavar.lower()
            kind = noun if self.is_list else f"value of --gnn-{self.name}"
            raise unknown_name(kind, text, self.choices)
        value = self.read(text)
        if value is None and self.form:
            raise UsageError(f"{self.name} '{text}' must {self.form}")
        return value

    def typed(self, value: Any, folder: Path) -> Any:
        """Return a value of a TOML file as a user would type it. Returns None if its type does not fit."""
        if self.is_flag:
            return value if isinstance(value, bool) else None
        parts = value if self.is_list and isinstance(value, list) else [value]
        words = [str(part).split(",") if self.is_list else [str(part)] for part in parts]
        texts = [text.strip() for texts in words for text in texts]
        if not texts or not all(texts) or any(isinstance(part, bool | list | dict) for part in parts):
            return None
        if self.path is not None:
            texts = [str(folder / user_path(text)) if text.endswith(self.path) else text for text in texts]
        return texts if self.is_list else texts[0]


FRACTION = units.read_fraction, "lie between 0 and 1, as in 2% or 0.02"
"""The `read` and the `form` of an option that is a fraction."""


def _duration(text: str) -> float | None:
    return units.read_seconds(text if text.strip()[-1:].isalpha() else f"{text} s")


_SECONDS = _duration, "be a positive number of seconds, as in 300"


def seconds(name: str, default: float | None, text: str) -> Option:
    """Return a command's option whose value is a time in seconds."""
    default_text = "" if default is None else f". Default: {default:.0f}."
    typed = None if default is None else f"{default:.0f}"
    return Option(name, "S", typed, *_SECONDS).described(f"{text}{default_text}")


def whole_number(text: str) -> int | None:
    """Read a whole number. Returns None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() else None


def positive(text: str) -> int | None:
    """Read a whole number of at least 1. Returns None for any other text."""
    return whole_number(text) or None


def described(option: Option, text: str = "") -> Any:
    """Return a dataclass field that stands for an option; the field's default is None."""
    return field(default=None, metadata={"option": option.described(text)})


def options_of(values: type[Any]) -> dict[str, Option]:
    """Return the options of a dataclass, by field name."""
    return {row.name: row.metadata["option"] for row in fields(values) if "option" in row.metadata}


@dataclass(frozen=True)
class Values:
    """The checked values of options, one field for each option."""

    @classmethod
    def parse(cls, **typed: Any) -> Self:
        """Read the options as they were typed, by key. Missing options have their defaults."""
        return cls(**{name: option.value(typed.get(option.key)) for name, option in options_of(cls).items()})


@dataclass(frozen=True)
class Options(Values):
    """The values of pytest's options, without a suite's options."""

    device: str = described(
        Option("device", "NAME", "auto", devices.resolve, of_machine=True, passed_on=True),
        "cpu, cuda (the first GPU of CUDA_VISIBLE_DEVICES) or auto (cuda if there is a GPU). Default: auto.",
    )
    precision: float = described(
        Option("precision", "P", "2%", *FRACTION),
        "stop timing a benchmark when the half-width of the 99% interval is at most this share of the time, "
        "as in 2% or 0.02. Default: 2%.",
    )
    time_seconds: float | None = described(
        Option("time", "TIME", None, _duration, "be a time, as in 4min or 240"),
        "time for all benchmarks together, as in 4min or 240 (seconds). Each gets a share, and stops early "
        "if its --gnn-precision is reached. Default: --benchmark-max-time for each.",
    )
    layouts: str | None = described(
        Option("layouts", "HOW", None, choices=("sample", "one", "off")),
        "sample: copy the inputs to new memory between blocks of rounds; one: never copy them; off: leave "
        "timing to pytest-benchmark. Default: sample for gnnbench's own benchmarks, off for others.",
    )
    flush_l2: bool = described(
        Option("l2", "HOW", "flush", partial(eq, "flush"), choices=("flush", "keep")),
        "flush: clear the GPU's L2 cache before each round; keep: do not clear it. Default: flush.",
    )
    effect: float = described(
        Option("effect", "E", f"{EFFECT:.0%}", *FRACTION, compares=True),
        "minimum effect of interest for --benchmark-compare: 3% or 0.03. Default: 3%.",
    )
    turns: bool = described(
        Option("turns", "HOW", "auto", partial(eq, "auto"), choices=("auto", "never"), compares=True),
        "auto: --benchmark-compare rebuilds the baseline's code, and times changed benchmarks in turns with "
        "it; never: it uses the baseline's times. Default: auto.",
    )
    results: bool = described(
        Option("results", "", True, compares=True),
        "compare the outputs of benchmarks that --benchmark-compare times in turns. Default: on.",
    )
    budget_seconds: float = described(
        Option("budget", "S", "300", *_SECONDS, compares=True),
        "total seconds for the benchmarks that --benchmark-compare times in turns. Default: 300.",
    )
    confirm: int = described(
        Option("confirm", "N", "3", whole_number, "be a whole number, as in 3; 0 for none", compares=True),
        "if a benchmark looks slower, time it again in N new processes before its test fails. Default: 3.",
    )
    build: str = described(
        Option("build", "CMD", "", compares=True),
        "shell command that builds each version in its own copy of the code, as in 'pip install .'; builds "
        "are cached. Default: nothing is built.",
    )
    shard: Shard | None = described(
        Option("shard", "I/N", None, Shard.parse, one_run=True),
        "run only part I of N, as in 1/4. Each test belongs to exactly one part, by a hash of its id.",
    )
    strict: bool = described(
        Option("strict", "", False, compares=True),
        "fail benchmarks that are undecided, incomparable or missing; fail the run if nothing could be "
        "compared, or if there are no counters for the installed versions.",
    )


OPTIONS: Mapping[str, Option] = {option.name: option for option in options_of(Options).values()}
"""The options by name, without a suite's options."""
