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
def gpu(index: int = 0) -> Iterator[Callable[..., Any] | None]:
    """Give a way to ask NVML about the GPU that CUDA counts as that one; None where CUDA has none there.

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
        handle = dict(enumerate(_visible(pynvml))).get(index)
        yield handle and ask
    finally:
        pynvml.nvmlShutdown()


def _visible(pynvml: Any) -> list[Any]:
    """Return the GPUs that CUDA sees, in its order; it ignores what follows one that it does not know."""
    found: list[Any] = []
    try:
        count = pynvml.nvmlDeviceGetCount()
        for name in os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count)))).split(","):
            handle = _handle(pynvml, name.strip())
            if handle is None:
                break
            found.append(handle)
    except pynvml.NVMLError:
        pass
    return found


def _handle(pynvml: Any, visible: str) -> Any:
    if visible.isdecimal():
        return pynvml.nvmlDeviceGetHandleByIndex(int(visible))
    if visible.startswith("MIG-"):
        return pynvml.nvmlDeviceGetHandleByUUID(visible)
    if not visible.startswith("GPU-"):
        return None
    # A UUID may be cut short.
    handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
    return next((one for one in handles if pynvml.nvmlDeviceGetUUID(one).startswith(visible)), None)


def resolve(name: str) -> tuple[str, int | None]:
    """Turn `auto` into the device that is here, and refuse one that is not.

    Returns:
        its kind, one of DEVICES, and the number that `cuda:N` gives.

    Raises:
        UsageError: an unknown device, CUDA where there is none, or a GPU that CUDA does not see.
    """
    if name == "auto":
        return ("cpu" if why_no_cuda() else "cuda"), None
    kind, colon, number = name.partition(":")
    if kind not in DEVICES or (colon and not (kind == "cuda" and number.isascii() and number.isdecimal())):
        raise unknown_name("device", name, ("auto", *DEVICES))
    if kind == "cuda" and (reason := why_no_cuda()):
        raise UsageError(f"device '{name}' was asked for, but {reason}; use cpu")
    if not colon:
        return kind, None
    index = int(number)
    with gpu(index) as ask:
        if ask is None:
            raise UsageError(f"device '{name}' was asked for, but {_counted()}")
    return kind, index


def _counted() -> str:
    import pynvml

    pynvml.nvmlInit()
    count = len(_visible(pynvml))
    pynvml.nvmlShutdown()
    return f"CUDA sees {count} GPUs, cuda:0 to cuda:{count - 1}" if count > 1 else "CUDA sees only cuda:0"


def cuda_free_bytes() -> int:
    """Return what can be allocated on the current GPU: what the driver has free, and torch's cache of it."""
    import torch

    free, _ = torch.cuda.mem_get_info()
    return int(free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated())
