"""What one call of a benchmark does now, for tests that `gnnbench bisect --test` writes."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..measure.fingerprint.fingerprint import Fingerprint
from ..variants.child import Child, DiedError

SEED = 0
"""Of the random numbers, as when `gnnbench bisect` inspects."""
_TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class OneCall:
    """One call of a benchmark."""

    counts: Mapping[str, int]
    """What it counts, by name; empty if its inputs are no tensors."""
    fingerprint: Fingerprint | None
    """What it runs; None: that cannot be seen."""

    def parts(self, kind: str) -> Mapping[str, str]:
        """Return the hashes of one kind of parts of the fingerprint, such as `functions`, by name."""
        return {} if self.fingerprint is None else getattr(self.fingerprint, kind)


def one_call(
    benchmark: str,
    folder: Path,
    arguments: Sequence[str] = (),
    *,
    timeout_seconds: float = _TIMEOUT_SECONDS,
) -> OneCall:
    """Run a benchmark in a process of its own, and inspect a call of it instead of timing it.

    Args:
        benchmark: its test id.
        folder: pytest's working directory.
        arguments: further arguments of pytest.
        timeout_seconds: the process is given up if it is silent for so long.

    Raises:
        UsageError: it cannot be inspected; the message is one line.
    """
    with tempfile.TemporaryDirectory(prefix="gnnbench-call-") as logs:
        child = Child(
            [benchmark, *arguments],
            environment={"PYTHONHASHSEED": str(SEED)},
            trees=(),
            folder=folder,
            log=Path(logs, "child.log"),
        )
        with child:
            try:
                answer = _inspected(child, benchmark, timeout_seconds)
            except DiedError as error:
                raise UsageError(f"{benchmark}: {error}") from None
    return OneCall(answer["counts"], Fingerprint.of_method(answer["fingerprint"]))


def _inspected(child: Child, benchmark: str, timeout_seconds: float) -> dict[str, Any]:
    """Return what the process answers to `inspect`.

    Raises:
        DiedError: it has ended.
        UsageError: the benchmark has ended before it could be inspected.
    """
    collected = child.answer(timeout_seconds)
    if benchmark not in collected["names"]:
        reason = next(iter(collected["refused"].values()), "there is no such test")
        raise UsageError(f"{benchmark}: {reason}")
    run = {"command": "run", "name": benchmark, "seed": SEED, "now": 0.0}
    answer = child.ask(run, timeout_seconds)
    if answer["answer"] == "ready":
        found = child.ask({"command": "inspect", "now": 0.0}, timeout_seconds)
        if found["answer"] == "inspected":
            while answer["answer"] != "done":
                answer = child.ask({"command": "next", "now": 0.0}, timeout_seconds)
            return found
        answer = found
    failure = answer["failure"]
    why = failure["text"] if failure else answer["fixture"] or "it never calls `benchmark`"
    raise UsageError(f"{benchmark}: {why}")
