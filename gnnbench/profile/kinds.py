"""The kinds of profile, by the names that users give."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from ..errors import UsageError
from .subject import Subject, UnavailableError

KINDS = {
    "phases": "forward, loss, backward and optimizer.step",
    "layers": "inside each convolution",
    "functions": "Python's own functions, by cProfile",
    "operators": "torch.profiler's table of operators",
    "kernels": "the GPU's kernels, and what the host waits for",
    "trace": "a trace for Perfetto and TensorBoard, and where a step's time goes",
    "ranges": "the ranges of layers and phases as record_function and NVTX have them",
    "memory": "the most memory held, by range",
}
"""Kind: what it shows."""

_MODULES = {"ranges": "nvtx_ranges"}
"""Kind: its module in this package, where that has another name."""


class Kind(Protocol):
    """What a kind's module has."""

    def take(self, subject: Subject, folder: Path) -> dict[str, Any]:
        """Profile, write what has a file of its own into the folder, and return the section of a record.

        Raises:
            UnavailableError: it cannot be taken here.
        """

    def table(self, section: Mapping[str, Any]) -> str:
        """Return the section as text of at most 80 columns."""


def parse(texts: Sequence[str]) -> tuple[str, ...]:
    """Read names, repeated or comma-separated, each once.

    Raises:
        UsageError: there is no kind of that name.
    """
    names = [name.strip() for text in texts for name in text.split(",")]
    for name in filter(None, names):
        if name not in KINDS:
            raise UsageError(f"unknown kind of profile '{name}': there are {', '.join(KINDS)}")
    return tuple(dict.fromkeys(filter(None, names)))


def load(name: str) -> Kind:
    """Return the module of a kind, imported when it is first asked for."""
    return cast("Kind", importlib.import_module(f".{_MODULES.get(name, name)}", __package__))


def take(
    kinds: Sequence[str], subject: Subject, folder: Path
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Profile in each of some kinds, and count what one more call does.

    Args:
        kinds: names.
        subject: what is profiled.
        folder: for the files of those that have some.

    Returns:
        The sections by name, and of the kinds that are unavailable here what they need. The counts are taken
        last, when caches are filled, and not where all kinds are unavailable.
    """
    sections: dict[str, dict[str, Any]] = {}
    unavailable: dict[str, str] = {}
    for name in kinds:
        try:
            sections[name] = load(name).take(subject, folder)
        except UnavailableError as error:
            unavailable[name] = str(error)
    if sections:
        from . import counts

        with subject.ready():
            sections["counts"] = counts.take(subject, folder)
    return sections, unavailable
