"""Which devices can be measured here, asked without importing torch."""

import importlib.util
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import UsageError, unknown_name

DEVICES = ("cpu", "cuda")


def why_no_cuda() -> str | None:
    """Say why CUDA kernels cannot be measured here; None where they can.

    Asks the driver through NVML and reads the installed torch's `version.py`.
    """
    import pynvml

    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return "CUDA_VISIBLE_DEVICES hides every GPU"
    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        return f"no NVIDIA driver answers ({error})"
    if count == 0:
        return "the NVIDIA driver sees no GPU"
    if torch_cuda_version() is None:
        return "the installed torch is built without CUDA"
    return None


def torch_cuda_version() -> str | None:
    """Return the version of CUDA that the installed torch is built with, None for a build without."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    match = re.search(r"^cuda\b[^=]*= *'([^']+)'", text, re.MULTILINE)
    return match and match.group(1)


@contextmanager
def first_gpu() -> Iterator[Callable[..., Any] | None]:
    """Give a way to ask NVML about the GPU that CUDA takes as its first; None where it can take none.

    It is called with a function's name without its `nvmlDeviceGet`, and answers None where this GPU, or
    this user, has no such thing. NVML counts GPUs by their place on the bus: on a machine with different
    ones CUDA does the same only with CUDA_DEVICE_ORDER=PCI_BUS_ID.
    """
    import pynvml

    def ask(what: str, *arguments: Any) -> Any:
        try:
            return getattr(pynvml, f"nvmlDeviceGet{what}")(handle, *arguments)
        except pynvml.NVMLError:
            return None

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield None
        return
    try:
        try:
            handle = _first_handle(pynvml)
        except pynvml.NVMLError:
            handle = None
        yield handle and ask
    finally:
        pynvml.nvmlShutdown()


def _first_handle(pynvml: Any) -> Any:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip()
    if visible.isdecimal():
        return pynvml.nvmlDeviceGetHandleByIndex(int(visible))
    if visible.startswith("MIG-"):
        return pynvml.nvmlDeviceGetHandleByUUID(visible)
    if not visible.startswith("GPU-"):
        return None
    # A UUID may be cut short.
    handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
    return next((one for one in handles if pynvml.nvmlDeviceGetUUID(one).startswith(visible)), None)


def resolve(name: str) -> str:
    """Turn `auto` into the device that is here, and refuse one that is not.

    Raises:
        UsageError: an unknown device, or CUDA where there is none.
    """
    if name == "auto":
        return "cpu" if why_no_cuda() else "cuda"
    if name not in DEVICES:
        raise unknown_name("device", name, ("auto", *DEVICES))
    if name == "cuda" and (reason := why_no_cuda()):
        raise UsageError(f"device 'cuda' was asked for, but {reason}; use cpu")
    return name
