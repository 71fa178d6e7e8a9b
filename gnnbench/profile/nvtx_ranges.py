"""The kind `ranges`: those of `layers`, for an external profiler.

On CUDA they are NVTX ranges, which Nsight Systems shows. The host does not wait for the GPU at their ends, so
they do not change the observed run; the times are the host's.
"""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..clocks import RealTime
from . import tree
from .subject import Subject
from .targets import LAYERS, PHASES


def take(subject: Subject, folder: Path) -> dict[str, Any]:  # noqa: ARG001
    """Call with ranges; an external profiler writes the files."""
    return tree.measure(subject, (*PHASES, *LAYERS), RealTime.nanoseconds, functions=True)


def table(section: Mapping[str, Any]) -> str:
    """Return the tree of ranges, with the host's times, as a table."""
    note = (
        "NVTX ranges: run this under `nsys profile` to see them. Times are the host's; it does not wait."
        if section["nvtx"]
        else "NVTX ranges need a GPU (--device cuda). On a CPU, torch.profiler shows them."
    )
    return f"{tree.table(section)}\n{textwrap.fill(note, tree.WIDTH)}"
