"""The interface between the engine and a suite. Without a suite, benchmarks have no labels."""

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

_MODULE = "...suite"
Status = Literal["ok", "note", "missing"]


@dataclass(frozen=True)
class Diagnosis:
    """One line of `gnnbench doctor`."""

    what: str
    status: Status
    detail: str
    remedy: str = ""
    """What to do. Empty if nothing is to be done."""


class Suite:
    """What the engine asks a suite. This base class answers as if no suite were installed.

    A suite is a module that assigns an instance of a subclass to `SUITE`. The module must not import torch.
    """

    options: Mapping[str, Option] = {}
    """The suite's pytest options, by name."""
    doctor_options: Sequence[str] = ()
    """Names of those options that `gnnbench doctor` has too."""
    tests: Mapping[str, str] = {}
    """Test ids, by the short names that `gnnbench profile` accepts for them."""
    losses: Sequence[str] = ()
    """Functions, each as `module:name`, that `gnnbench profile` shows as the loss."""
    layers: Sequence[str] = ()
    """Functions, each as `module:name`, that `gnnbench profile` shows as layers."""

    def labels(self, fields: Mapping[str, str | int]) -> Labels | None:
        """Return a benchmark's labels from their fields in a run file. Raises ValueError for wrong fields."""
        return None

    def labels_in(self, test_id: str) -> Labels | None:
        """Return the labels that a test id contains. Returns None if the test is not one of this suite."""
        return None

    def plugin(self) -> Any:
        """Return the pytest plugin, with options, markers and fixtures. Returns None if there is none."""
        return None

    def owns(self, item: Any) -> bool:
        """Return whether a pytest item is a benchmark of the suite."""
        return False

    def fault(self, root: Path, part: "BenchmarkPart", *, strict: bool) -> str | None:
        """Return why a benchmark's counters are wrong, or None. If `strict`, missing counters are wrong."""
        return None

    def remarks(self, labels: Iterable[Labels]) -> list[str]:
        """Return notes on the inputs of benchmarks with these labels."""
        return []

    def commands(self) -> Mapping[str, ModuleType]:
        """Return the suite's subcommands by name: modules with `add_arguments` and `run`, as in `cli/`."""
        return {}

    def diagnoses(self, options: Mapping[str, Any]) -> Iterator[Diagnosis]:
        """Yield the lines of `gnnbench doctor` on the suite's libraries and data."""
        return iter(())


@cache
def installed() -> Suite:
    """Return the suite in this package, or a plain `Suite` if there is none."""
    if find_spec(resolve_name(_MODULE, __package__)) is None:
        return Suite()
    suite: Suite = import_module(_MODULE, __package__).SUITE
    return suite
