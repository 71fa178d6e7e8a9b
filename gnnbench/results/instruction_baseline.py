"""Baselines of instructions in `baselines/instructions/`: valid for equal versions, processor and build."""

import json
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from .. import json_io, schema
from ..environment import LIBRARIES
from ..errors import UsageError
from ..files import write_whole
from ..measure.instructions.counting import Instructions
from ..packages import version
from . import former_names

FORMAT_VERSION = 1
# 1: total, spread, varying, functions and frames by test id.
MAX_BYTES = 2**26
FOLDER = Path("baselines") / "instructions"
_REMEDY = "restore it, or remove it and record with --gnn-instructions=update"
_PACKAGES = ("numpy", *(name for name in LIBRARIES if name != "ogb"))
"""Packages on which the instructions of benchmarks depend; ogb only loads data."""


@dataclass(frozen=True)
class Build:
    """What was compiled on this machine and not by the packages' authors, and what counts."""

    python: str
    """Its version and compiler."""
    libc: str
    counter: str
    """The counter, with its version."""

    @classmethod
    def here(cls, counter: str) -> Self:
        """Return that of this process."""
        python = f"{platform.python_version()}, {platform.python_compiler()}"
        return cls(python, " ".join(platform.libc_ver()).strip(), counter)

    def __str__(self) -> str:
        """Return it in one line."""
        return f"Python {self.python}, {self.libc}, {self.counter}"


@dataclass(frozen=True)
class Recorded:
    """The content of a file."""

    build: Build
    instructions: Mapping[str, Instructions]
    """By test id."""


def versions() -> dict[str, str]:
    """Return the installed versions: of Python and of the packages that benchmarks may use."""
    found = {name: found.partition("+")[0] for name in _PACKAGES if (found := version(name))}
    return {"python": f"{sys.version_info.major}.{sys.version_info.minor}", **found}


def path_of(root: Path, capability: str) -> Path:
    """Return the baseline file for the installed versions and a processor's capability."""
    name = "_".join(f"{package}-{number}" for package, number in versions().items())
    return root / FOLDER / f"{name}_{capability}.json"


def read(path: Path) -> Recorded | None:
    """Return the content of a baseline file; None: there is no file.

    Raises:
        UsageError: the file cannot be read, or has another form or version.
    """
    try:
        state = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=2)
def _read(path: Path, _changed_ns: int, _size: int) -> Recorded:
    content, _ = former_names.read(path, "instruction baseline", MAX_BYTES, _REMEDY)
    if not isinstance(content, dict):
        json_io.refuse(path, "not an instruction baseline", _REMEDY)
    schema.check(path, content, "instructions", FORMAT_VERSION, _REMEDY)
    found = {name: Instructions.from_json(one) for name, one in content["instructions"].items()}
    return Recorded(Build(**content["build"]), found)


def write(path: Path, build: Build, instructions: Mapping[str, Instructions]) -> None:
    """Add instructions to a baseline, atomically; those of the same benchmarks, or of another build, go.

    Raises:
        UsageError: the file there cannot be read.
    """
    before = read(path)
    kept = before.instructions if before and before.build == build else {}
    together: dict[str, Instructions] = dict(sorted({**kept, **instructions}.items()))
    content: dict[str, Any] = {
        "version": FORMAT_VERSION,
        "versions": versions(),
        "capability": path.stem.rpartition("_")[2],
        "build": asdict(build),
        "instructions": {name: one.as_json() for name, one in together.items()},
    }
    write_whole(path, json.dumps(content, indent=1) + "\n")
