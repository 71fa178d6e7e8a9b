"""A line of `gnnbench doctor`."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "note", "missing"]


@dataclass(frozen=True)
class Diagnosis:
    """One line of the report."""

    what: str
    status: Status
    detail: str
    remedy: str = ""
    """What to do; empty: nothing."""
    required: bool = False
