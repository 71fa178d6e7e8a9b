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
    """Return why CUDA kernels cannot be measured on this machine. Returns None if they can.

    This asks the NVIDIA driver through NVML, and reads the installed torch's `version.py`.
    """
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return "CUDA_VISIBLE_DEVICES hides every GPU"
    with gpu() as ask:
        if ask is None:
            return "there is no NVIDIA driver, or it finds no GPU that CUDA_VISIBLE_DEVICES names"
    if torch_cuda_version() is None:
        return "the installed torch is built without CUDA"
    return None


def torch_cuda_version() -> str | None:
    """Return the CUDA version that the installed torch was built with. None without torch or CUDA."""
    spec = importlib.util.find_spec("torch")
    file = Path((spec and spec.origin) or "").with_name("version.py")
    if not file.is_file():
        return None
    match = re.search(r"^cuda\b[^=]*= *'([^']+)'", file.read_text(encoding="utf-8"), re.MULTILINE)
    return match and match.group(1)


@contextmanager
def gpu() -> Iterator[Callable[..., Any] | None]:
    """Yield a function that queries NVML about the first GPU that CUDA uses, or None without a GPU.

    `ask("Name")` calls `nvmlDeviceGetName`, and returns None if the GPU or the user's rights do not allow the
    query. NVML numbers GPUs by their place on the bus. If the machine has different GPUs, CUDA numbers them
    the same way only with CUDA_DEVICE_ORDER=PCI_BUS_ID.
    """
    import pynvml

    def ask(query: str, *arguments: Any) -> Any:
        try:
            return getattr(pynvml, f"nvmlDeviceGet{query}")(handle, *arguments)
        except pynvml.NVMLError:
            return None

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield None
        return
    name, handle = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip(), None
    try:
        with suppress(pynvml.NVMLError):
            by_index, by_uuid = pynvml.nvmlDeviceGetHandleByIndex, pynvml.nvmlDeviceGetHandleByUUID
            handle = by_index(int(name)) if name.isdecimal() else by_uuid(name)
        yield handle and ask
    finally:
        pynvml.nvmlShutdown()


def resolve(name: str) -> str:
    """Return the device to measure on, one of DEVICES; `auto` is CUDA if it works, otherwise the CPU."""
    if name == "auto":
        return "cpu" if why_no_cuda() else "cuda"
    if name not in DEVICES:
        raise unknown_name("device", name, ("auto", *DEVICES))
    if name == "cuda" and (reason := why_no_cuda()):
        raise UsageError(f"device '{name}' cannot be used, because {reason}; use cpu")
    return name


def cuda_free_bytes() -> int:
    """Return the bytes that can be allocated on the current GPU, unused memory in torch's cache included."""
    import torch

    free, _ = torch.cuda.mem_get_info()
    return int(free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated())
