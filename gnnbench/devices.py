"""Which devices can be measured here, asked without importing torch."""

import importlib.util
import os
import re
from pathlib import Path

from gnnbench.errors import UsageError, unknown_name

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
    if _torch_cuda_version() is None:
        return "the installed torch is built without CUDA"
    return None


def _torch_cuda_version() -> str | None:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    match = re.search(r"^cuda\b[^=]*= *'([^']+)'", text, re.MULTILINE)
    return match and match.group(1)


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
