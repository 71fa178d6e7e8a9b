"""The kinds of profile by name."""

from collections.abc import Sequence

from .errors import UsageError

KINDS = {
    "phases": "forward, loss, backward and optimizer.step",
    "layers": "the parts of each convolution",
    "functions": "Python functions, measured by cProfile",
    "kernels": "GPU kernels, and host-device synchronisations",
    "trace": "a trace for Perfetto and TensorBoard, with operators, and a summary of where the time goes",
    "ranges": "layers and phases as ranges of record_function and NVTX",
    "instructions": "functions of C, C++ and Python, by the instructions executed",
}
"""Description by kind."""

_ALONE = "instructions"


def known(name: str) -> str:
    """Return the name of a kind."""
    if name not in KINDS:
        raise UsageError(f"unknown kind of profile '{name}': choose from {', '.join(KINDS)}")
    return name


def check(kinds: Sequence[str]) -> None:
    """See that the kinds can be taken in one run."""
    if others := _ALONE in kinds and ",".join(kind for kind in kinds if kind != _ALONE):
        raise UsageError(
            f"kind of profile '{_ALONE}': callgrind slows down all that runs; take {others} in another run"
        )
