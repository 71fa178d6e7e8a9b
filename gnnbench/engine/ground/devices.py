"""Finds the devices of this machine without importing torch."""

import importlib.util
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import UsageError, unknown_name

DEVICES = ("cpu", "cuda")


def why_no_cuda() -> str | None:
    """Return why CUDA kernels cannot be measured on this machine; None if they can.

    It asks the NVIDIA driver through NVML, and reads the installed torch's `version.py`.
    """
    import pynvml

    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return "CUDA_VISIBLE_DEVICES hides every GPU"
    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        return f"no NVIDIA driver was found ({error})"
    if count == 0:
        return "the NVIDIA driver finds no GPU"
    if torch_cuda_version() is None:
        return "the installed torch is built without CUDA"
    return None


def torch_cuda_version() -> str | None:
    """Return the CUDA version that the installed torch was built with; None without torch or CUDA."""
    spec = importlib.util.find_spec("torch")
    file = Path((spec and spec.origin) or "").with_name("version.py")
    if not file.is_file():
        return None
    match = re.search(r"^cuda\b[^=]*= *'([^']+)'", file.read_text(encoding="utf-8"), re.MULTILINE)
    return match and match.group(1)


@contextmanager
def gpu(index: int = 0) -> Iterator[Callable[..., Any] | None]:
    """Yield a function that queries NVML about a GPU; None if CUDA has no GPU of that index.

    `ask("Name")` calls `nvmlDeviceGetName`; it returns None if the GPU or the user's rights do not allow the
    query. NVML numbers GPUs by their place on the bus. If the machine has different GPUs, CUDA numbers them
    the same way only with CUDA_DEVICE_ORDER=PCI_BUS_ID.
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
    """Return the GPUs that CUDA uses, in its order. CUDA ignores all entries after an unknown one."""
    handles: list[Any] = []
    with suppress(pynvml.NVMLError):
        count = pynvml.nvmlDeviceGetCount()
        names = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count)))).split(",")
        for name in map(str.strip, names):
            by_index, by_uuid = pynvml.nvmlDeviceGetHandleByIndex, pynvml.nvmlDeviceGetHandleByUUID
            handles.append(by_index(int(name)) if name.isdecimal() else by_uuid(name))
    return handles


def resolve(name: str) -> tuple[str, int | None]:
    """Return the device to measure on; `auto` is CUDA if it works, else the CPU.

    Returns:
        The kind, one of DEVICES, and N of `cuda:N`, or None.
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
            raise UsageError(
                f"device '{name}' was asked for, but CUDA has no GPU {index}: nvidia-smi lists them"
            )
    return kind, index


def cuda_free_bytes() -> int:
    """Return the bytes that can be allocated on the current GPU, unused memory in torch's cache included."""
    import torch

    free, _ = torch.cuda.mem_get_info()
    return int(free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated())
