"""What the engine asks a suite that is a part of this package. Without one, benchmarks have test ids only."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from ..ground.labels import Labels
from ..ground.options import Option

if TYPE_CHECKING:  # it imports numpy, which commands do not need to show their help
    from .parts import BenchmarkPart

_PLACE = "...suite"
Status = Literal["ok", "note", "missing"]


@dataclass(frozen=True)
class Diagnosis:
    """One line of the report."""

    what: str
    status: Status
    detail: str
    remedy: str = ""
    """What to do; empty if nothing."""


class Suite:
    """No suite. A module with a subclass of it in `SUITE` is one; it must not import torch."""

    options: Mapping[str, Option] = {}
    """Its options of pytest, by name."""
    doctor_options: Sequence[str] = ()
    """Those that `gnnbench doctor` has, too."""
    tests: Mapping[str, str] = {}
    """Ids of tests by the short names that `gnnbench profile` knows."""
    losses: Sequence[str] = ()
    """Its functions that `gnnbench profile` shows as the loss, and its layers, each as `module:name`."""
    layers: Sequence[str] = ()

    def labels(self, fields: Mapping[str, str | int]) -> Labels | None:
        """Return the labels of a benchmark of a run file; a ValueError names a field that is impossible."""
        del fields
        return None

    def labels_in(self, test_id: str) -> Labels | None:
        """Return the labels in a test id; None if it is of another suite."""
        del test_id
        return None

    def plugin(self) -> Any:
        """Return its plugin of pytest, with options, markers and fixtures; None if it has none."""
        return None

    def owns(self, item: Any) -> bool:
        """Tell whether a test of pytest is one of its benchmarks."""
        del item
        return False

    def fault(self, root: Path, part: "BenchmarkPart", *, strict: bool) -> str | None:
        """Return why a benchmark fails for what it did; `strict`: also if nothing says what it should do."""
        del root, part, strict
        return None

    def remarks(self, labels: Iterable[Labels]) -> list[str]:
        """Return lines on what benchmarks ran on."""
        del labels
        return []

    def commands(self) -> Mapping[str, ModuleType]:
        """Return its subcommands: modules as in `cli/`, with `add_arguments` and `run`."""
        return {}

    def diagnoses(self, options: Mapping[str, Any]) -> Iterator[Diagnosis]:
        """Yield what `gnnbench doctor` shows of its libraries and data."""
        del options
        yield from ()


@cache
def installed() -> Suite:
    """Return the suite."""
    if find_spec(resolve_name(_PLACE, __package__)) is None:
        return Suite()
    suite: Suite = import_module(_PLACE, __package__).SUITE
    return suite
