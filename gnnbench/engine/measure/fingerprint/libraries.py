"""Hashes of the native libraries that a process uses, and the settings of the process."""

import decimal
import gc
import hashlib
import json
import os
import re
import sys
import tracemalloc
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from operator import attrgetter
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from ...ground.cpu import cores
from ...ground.files import cache_folder, write_whole
from . import digest, machine_code

NATIVE = re.compile(r"\.so(\.\d+)*$")
"""Suffix of the file names of native libraries."""
BUILDS = "builds"
"""Folder in the cache folder with the builds of commits, see docs/compiled.md."""
_MAPPED = Path("/proc/self/maps")
PREFIXES = (
    *("OMP_", "MKL_", "KMP_", "GOMP_", "OPENBLAS_", "ATEN_", "TORCH", "PYTORCH_", "CUDA_", "TRITON_", "DGL"),
    *("BLIS_", "GOTO_", "NUMEXPR_", "POLARS_", "RAYON_", "TBB_", "ARROW_", "JAX_", "XLA_"),
    *("LD_", "MALLOC_", "GLIBC_", "CUBLAS", "CUDNN_", "DNNL_", "ONEDNN_", "NPY_", "NUMBA_", "PYTHONMALLOC"),
    "GNNBENCH_SLOWDOWN",
)
"""Prefixes of environment variables that native libraries read; GNNBENCH_SLOWDOWN adds a slowdown."""


def libraries(packages: Iterable[str]) -> Mapping[str, str]:
    """Return a hash of each native library that `packages` (top-level modules) use, by file name.

    The libraries are all native files in the packages' folders, and the loaded libraries that these link to.
    All loaded libraries that gnnbench has built are included, because a type's `__module__` may be wrong.
    `python` is a hash of the version and the interpreter.
    """
    interpreter, _ = _hash_and_links(Path(sys.executable).resolve())
    hashes = {"python": digest.short(sys.version, interpreter)}
    paths = {path.name: path for path in loaded(len(sys.modules))}
    builds = cache_folder() / BUILDS
    built = (path for path in paths.values() if path.is_relative_to(builds))
    names = {*packages}
    extensions = (  # an extension module may be outside of its package's folder
        Path(origin)
        for name, module in list(sys.modules.items())
        if NATIVE.search(origin := str(getattr(module, "__file__", "")))
        and not names.isdisjoint((name.partition(".")[0], name.rpartition(".")[2]))
    )
    stack = sorted({*built, *extensions, *(file for package in names for file in _files(package))})
    visited = set(stack)
    while stack:
        file = stack.pop()
        content, links = _hash_and_links(file)
        hashes[file.name] = digest.combined((hashes.get(file.name, ""), content))
        for name in links:
            path = paths.get(name)
            if path is not None and path not in visited:
                visited.add(path)
                stack.append(path)
    return dict(sorted(hashes.items()))


@cache
def loaded(_modules: int) -> tuple[Path, ...]:
    """Return the native libraries that this process has loaded; the number of modules is the cache's key."""
    paths = {line.split(maxsplit=5)[-1] for line in _MAPPED.read_text(encoding="utf-8").splitlines()}
    return tuple(map(Path, sorted(filter(NATIVE.search, paths))))


@cache
def _files(package: str) -> tuple[Path, ...]:
    module = None if package in sys.stdlib_module_names else sys.modules.get(package)
    return tuple(
        Path(parent, name)
        for folder in getattr(module, "__path__", ())
        for parent, _, names in os.walk(folder)
        for name in names
        if NATIVE.search(name)
    )


def _hash_and_links(file: Path) -> tuple[str, list[str]]:
    try:
        state = file.stat()
    except OSError:
        return "missing", []
    times = state.st_mtime_ns, state.st_ctime_ns
    return _cached_hash_and_links(file, (str(file), state.st_dev, state.st_ino, state.st_size, *times))


def hashes_folder() -> Path:
    return cache_folder() / "libraries"


def library_hash(file: Path) -> str:
    """Return a hash of a library's content, or of its machine code if gnnbench has built it."""
    return _hash_and_links(file)[0]


def functions_differing(base: str, head: str) -> list[str]:
    """Return the functions that differ between two libraries, given by their hashes; empty if unknown."""
    with suppress(OSError, ValueError):
        tables = (json.loads((hashes_folder() / f"{key}.json").read_bytes()) for key in (base, head))
        return machine_code.differing(*tables)
    return []


@cache
def _cached_hash_and_links(file: Path, state: tuple[str | int, ...]) -> tuple[str, list[str]]:
    """Read the hash and links of a file from the cache folder, or compute them. `state` is the key."""
    entry = hashes_folder() / digest.short(repr((*state, machine_code.VERSION)))
    try:
        content, *links = entry.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        with file.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()[: digest.LENGTH]
        links = _needed(file)
        if file.is_relative_to(cache_folder() / BUILDS) and (table := machine_code.functions(file)):
            content = digest.combined(f"{name} {value}" for name, value in table.items())
            with suppress(OSError):
                write_whole(hashes_folder() / f"{digest.combined(('', content))}.json", json.dumps(table))
        with suppress(OSError):  # without the cache, the next process hashes the file again
            write_whole(entry, "\n".join((content, *links)))
    return content, links


def _needed(file: Path) -> list[str]:
    """Return the names of the libraries that an ELF file links to; empty for other formats."""
    with suppress(OSError, ELFError), file.open("rb") as opened:
        section = ELFFile(opened).get_section_by_name(".dynamic")
        if isinstance(section, DynamicSection):
            return sorted(str(vars(tag)["needed"]) for tag in section.iter_tags("DT_NEEDED"))
    return []


def settings(variables: Iterable[str]) -> Mapping[str, str]:
    """Return settings that decide how fast code runs, and hashes of `variables` and those of PREFIXES."""
    names = {*variables, *(name for name in os.environ if name.startswith(PREFIXES))}
    values = {f"${name}": digest.short(digest.without_folders(os.environ.get(name, ""))) for name in names}
    callbacks = (getattr(item, "__qualname__", type(item).__qualname__) for item in gc.callbacks)
    values["garbage collector"] = f"{gc.isenabled()} {gc.get_threshold()} {' '.join(callbacks)}"
    context = decimal.getcontext()
    traps = sorted(trap.__name__ for trap, is_set in context.traps.items() if is_set)
    values["decimal"] = f"{context.prec} {context.rounding} {context.Emin} {context.Emax} {traps}"
    depth = sys.get_coroutine_origin_tracking_depth()
    values["interpreter"] = f"{sys.getrecursionlimit()} {sys.getswitchinterval()} {depth}"
    values["cores"] = str(len(cores()))
    if numpy := sys.modules.get("numpy"):
        values["NumPy"] = f"{numpy.geterr()} {numpy.getbufsize()}"
    values["tracing"] = f"{tracemalloc.is_tracing()} {type(sys.gettrace()).__qualname__}"
    torch = sys.modules.get("torch")
    if torch:
        values |= {
            "threads": str(torch.get_num_threads()),
            "threads between operators": str(torch.get_num_interop_threads()),
            "default dtype": str(torch.get_default_dtype()),
            "default device": str(torch.get_default_device()),
            "deterministic": str(torch.are_deterministic_algorithms_enabled()),
            "anomaly detection": str(torch.is_anomaly_enabled()),
            "denormal numbers": str((torch.tensor(1e-320, dtype=torch.float64) * 1.0).item()),
            "gradients": f"{torch.is_grad_enabled()} {torch.is_inference_mode_enabled()}",
            "oneDNN": f"{torch.backends.mkldnn.is_available()} {torch.backends.mkldnn.enabled}",
            "cuDNN": f"{torch.backends.cudnn.enabled} {torch.backends.cudnn.benchmark} "
            f"{torch.backends.cudnn.deterministic}",
            "autocast": " ".join(
                f"{torch.is_autocast_enabled(kind)} {torch.get_autocast_dtype(kind)}"
                for kind in ("cpu", "cuda")
            ),
            "attention": " ".join(
                str(getattr(torch.backends.cuda, f"{kind}_sdp_enabled")())
                for kind in ("flash", "mem_efficient", "math", "cudnn")
            ),
            "sparse checks": str(torch.sparse.check_sparse_tensor_invariants.is_enabled()),
        }
        with suppress(RuntimeError):  # the code has set newer settings of precision
            values["matmul precision"] = torch.get_float32_matmul_precision()
            values["TF32"] = f"{torch.backends.cuda.matmul.allow_tf32} {torch.backends.cudnn.allow_tf32}"
        for name in ("mkldnn.matmul", "mkldnn.conv", "mkldnn.rnn", "cuda.matmul", "cudnn.conv", "cudnn.rnn"):
            with suppress(AttributeError):  # torch 2.8 and older
                values[f"{name} precision"] = attrgetter(f"{name}.fp32_precision")(torch.backends)
    return dict(sorted(values.items()))
