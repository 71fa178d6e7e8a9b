"""The settings of a process that decide how fast the same code runs."""

import gc
import os
import sys
from collections.abc import Iterable, Mapping

from . import digest

PREFIXES = (
    *("OMP_", "MKL_", "KMP_", "GOMP_", "OPENBLAS_", "ATEN_", "TORCH", "PYTORCH_", "CUDA_", "TRITON_", "DGL"),
    *("LD_", "MALLOC_", "GLIBC_", "CUBLAS", "CUDNN_", "DNNL_", "ONEDNN_", "NPY_", "NUMBA_", "PYTHONMALLOC"),
    "GNNBENCH_SLOWDOWN",
)
"""Beginnings of environment variables that native libraries read; GNNBENCH_SLOWDOWN injects a slowdown."""


def settings(read: Iterable[str]) -> Mapping[str, str]:
    """Return this process's settings by name; of environment variables, which may hold secrets, hashes.

    Args:
        read: environment variables that the call reads.
    """
    names = {*read, *(name for name in os.environ if name.startswith(PREFIXES))}
    found = {f"${name}": digest.short(digest.without_folders(os.environ.get(name, ""))) for name in names}
    found["garbage collector"] = f"{gc.isenabled()} {gc.get_threshold()}"
    torch = sys.modules.get("torch")
    if torch:
        found |= {
            "threads": str(torch.get_num_threads()),
            "threads between operators": str(torch.get_num_interop_threads()),
            "default dtype": str(torch.get_default_dtype()),
            "default device": str(torch.get_default_device()) if hasattr(torch, "get_default_device") else "",
            "matmul precision": torch.get_float32_matmul_precision(),
            "deterministic": str(torch.are_deterministic_algorithms_enabled()),
            "anomaly detection": str(torch.is_anomaly_enabled()),
            "denormal numbers": str((torch.tensor(1e-320, dtype=torch.float64) * 1.0).item()),
            "gradients": f"{torch.is_grad_enabled()} {torch.is_inference_mode_enabled()}",
            "oneDNN": f"{torch.backends.mkldnn.is_available()} {torch.backends.mkldnn.enabled}",
            "cuDNN": f"{torch.backends.cudnn.enabled} {torch.backends.cudnn.benchmark} "
            f"{torch.backends.cudnn.deterministic} {torch.backends.cudnn.allow_tf32}",
            "TF32": str(torch.backends.cuda.matmul.allow_tf32),
        }
    return dict(sorted(found.items()))
