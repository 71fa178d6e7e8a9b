"""The most important fields of an environment, as text."""

from collections.abc import Mapping
from typing import Any

from .names import clean

_SHORT_COMMIT = 10


def environment_facts(environment: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return name and value of each known field.

    Args:
        environment: from a file; empty if the file has none.
    """
    if not environment:
        return ()
    gpu = environment.get("gpu") or {}
    commit = environment.get("commit")
    changed = ", with uncommitted changes" if environment.get("dirty") else ""
    libraries = " · ".join(f"{name} {version}" for name, version in environment.get("libraries") or ())
    found = {
        "processor": environment.get("cpu"),
        "threads": environment.get("threads"),
        "GPU": gpu.get("name"),
        "system": environment.get("system"),
        "Python": environment.get("python"),
        "libraries": libraries,
        "commit": commit and f"{str(commit)[:_SHORT_COMMIT]}{changed}",
    }
    return tuple((name, clean(value)) for name, value in found.items() if value)
