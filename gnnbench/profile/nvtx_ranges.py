"""The kind `ranges`: those of `layers`, for a profiler that looks on from outside.

On CUDA they are NVTX's, as Nsight Systems shows them. The host does not wait for the GPU at their borders, so
that what is looked at runs as it does without: times are the host's.
"""

import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import tree
from .subject import Subject
from .targets import LAYERS, PHASES


def take(subject: Subject, folder: Path) -> dict[str, Any]:  # noqa: ARG001
    """Call with ranges; nothing is written, the profiler outside does that."""
    return tree.measure(subject, (*PHASES, *LAYERS), time.perf_counter_ns, functions=True)


def table(section: Mapping[str, Any]) -> str:
    """Lay out the tree of ranges by the host's time."""
    note = (
        "NVTX ranges: to see them, run this under `nsys profile`. Times are the host's, which does not wait."
        if section["nvtx"]
        else "NVTX ranges need a GPU (--device cuda). Here torch.profiler sees them as record_function's."
    )
    return f"{tree.table(section)}\n{textwrap.fill(note, tree.WIDTH)}"
