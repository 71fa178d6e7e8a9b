"""The machine, settings and versions of a run, and whether two runs are comparable."""

import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import psutil

from . import devices, git
from .cpu import cores
from .packages import version

WAIT_POLICY = "OMP_WAIT_POLICY"

SYSTEM = Path("/")
"""The folder of `proc` and `sys`; tests replace it."""

LIBRARIES = ("torch", "torch_geometric", "torch_scatter", "torch_sparse", "dgl", "ogb")
THREAD_SETTINGS = ("OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY", "MKL_NUM_THREADS", "GOMP_SPINCOUNT")

TRANSIENT = re.compile(
    r"_|(OLD)?PWD|SHLVL|COLUMNS|LINES|DISPLAY|WINDOWID|STY|GPG_TTY|INVOCATION_ID|JOURNAL_STREAM"
    r"|XDG_(RUNTIME_DIR|SEAT|VTNR|SESSION_.*)|PYTEST_(CURRENT_TEST|VERSION)|SYSTEMD_EXEC_PID|\w+_SESSION_ID"
    r"|(TERM|TMUX)(_.*)?|HOSTNAME|BUILD_(ID|NUMBER|TAG|URL)"
    r"|(ACTIONS|BUILDKITE|CI|CIRCLE|DBUS|GITHUB|KITTY|RUNNER|SLURM|SSH|TRAVIS|VSCODE)_.*"
)
"""Environment variables of the terminal, the login and the job, on which no code under test depends."""

CONDITIONS = (
    *("cpu", "architecture", "cores", "quota_cores", "threads", "wait_policy"),
    *(f"thread_settings.{name}" for name in THREAD_SETTINGS),
    *("governor", "boost", "huge_pages", "allocator", "openmp"),
    *("gpu.name", "gpu.driver", "gpu.power_cap_watts", "gpu.mig"),
)
"""Fields that must be equal for two timings to be comparable: hardware, and settings that affect speed.

Not listed: the commit and VERSIONS, which a comparison may be about; fields with hardly any effect (memory
size, kernel release); and a GPU's clocks, which vary."""

MACHINE = tuple(
    name for name in CONDITIONS if name not in ("threads", "wait_policy") and not name.startswith("thread_")
)
"""Fields of CONDITIONS that no code can change. Test files may set the others."""

VERSIONS = ("python", "gpu.cuda", *(f"libraries.{name}" for name in LIBRARIES if name != "ogb"))
"""Fields with versions, which belong to the code under test. They are equal in all processes of a run.

Not listed: Python's patch release, and ogb, which only loads data."""


@dataclass(frozen=True)
class Gpu:
    """A GPU. A field is None if the driver does not report it."""

    name: str
    """A MIG slice has its profile in the name: `NVIDIA H100 80GB HBM3 MIG 1g.10gb`."""
    driver: str
    cuda: str | None = None
    """The CUDA version that torch was built with."""
    graphics_clock_mhz: int | None = None
    """At the time of the query."""
    power_cap_watts: float | None = None
    mig: bool | None = None
    """Whether Multi-Instance GPU divides it into slices."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What a timing depends on. A field is empty or None if it is unknown on this machine."""

    cpu: str
    architecture: str
    cores: int
    """Number of cores that this process may run on."""
    quota_cores: float | None = None
    """CPU time limit of the control group (a container's limit), in cores. None if there is no limit."""
    memory_bytes: int
    threads: int
    """torch's thread count; before torch is imported, the count that OpenMP will use."""
    wait_policy: str
    """OMP_WAIT_POLICY: idle OpenMP threads sleep if it is `PASSIVE`, and spin if empty (the default)."""
    thread_settings: tuple[tuple[str, str], ...]
    """The variables of THREAD_SETTINGS that are set."""
    governor: str
    boost: bool | None = None
    """Whether the processor may exceed its nominal clock."""
    huge_pages: str
    allocator: str
    """File that LD_PRELOAD loads in place of the C library's malloc."""
    openmp: str
    """File that LD_PRELOAD loads in place of torch's OpenMP."""
    system: str
    gpu: Gpu | None = None
    python: str
    libraries: tuple[tuple[str, str], ...]
    """Names and versions of the installed packages of LIBRARIES."""
    commit: str | None = None
    """Commit of the measured project. None without git or a repository."""
    dirty: bool | None = None
    """Whether tracked files differ from the commit."""


def collect(root: Path | None = None, *, device: str = "cuda") -> Environment:
    """Describe this machine and process without importing a measured library.

    Import torch first if the environment will be saved: only torch knows its thread count. If `device`
    is `cpu`, the GPU is left out, so that CPU timings stay comparable across GPU drivers.
    """
    count = len(cores())
    torch = sys.modules.get("torch")
    commit, dirty = git.state(root) if root else (None, False)
    return Environment(
        cpu=_cpu_model(),
        architecture=platform.machine(),
        cores=count,
        quota_cores=_quota_cores(),
        memory_bytes=psutil.virtual_memory().total,
        threads=torch.get_num_threads() if torch else _threads() or count,
        wait_policy=os.environ.get(WAIT_POLICY, ""),
        thread_settings=tuple((name, os.environ[name]) for name in THREAD_SETTINGS if name in os.environ),
        governor=_governor(),
        boost=_boost(),
        huge_pages=_huge_pages(),
        allocator=_preloaded(r"malloc"),
        openmp=_preloaded(r"^lib[gi]?omp"),
        system=f"{platform.system()} {platform.release()}",
        gpu=_gpu() if device == "cuda" else None,
        python=platform.python_version(),
        libraries=tuple((name, number) for name in LIBRARIES if (number := version(name))),
        commit=commit,
        dirty=dirty if commit else None,
    )


def differences(
    first: Environment, second: Environment, fields: Sequence[str] = CONDITIONS
) -> list[tuple[str, Any, Any]]:
    """Return the name of each field that differs, with its values in both environments."""
    pairs = [(field, _flat(first).get(field), _flat(second).get(field)) for field in fields]
    return [row for row in pairs if row[1] != row[2]]


def name(environment: Environment, fields: Sequence[str] = CONDITIONS) -> str:
    """Return a folder name that environments with equal `fields` share: `amd-epyc_1f0c9a3e`."""
    flat = _flat(environment)
    model = re.sub(r"\((R|TM)\)|\bCPU\b|@.*", "", flat.get("gpu.name") or flat["cpu"])
    folder = re.sub(r"[^a-z0-9]+", "-", model.lower())[:40].strip("-")
    values = json.dumps({field: flat.get(field) for field in fields})
    return f"{folder}_{hashlib.sha256(values.encode()).hexdigest()[:8]}"


def let_idle_threads_sleep() -> bool:
    """Set OMP_WAIT_POLICY to PASSIVE unless it has a value or torch was imported; return whether it was set.

    Importing torch makes OpenMP read the variable. Spinning idle threads take cores from working ones: with
    libgomp's default, 3 of 10 processes on two shared cores had SpMM medians of 26 ms instead of 1.05 ms.
    """
    if os.environ.get(WAIT_POLICY) or "torch" in sys.modules:
        return False
    os.environ[WAIT_POLICY] = "PASSIVE"
    return True


def read(path: str) -> str | None:
    """Return the text of a file such as `proc/cpuinfo`. Returns None if it cannot be read."""
    try:
        return (SYSTEM / path).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _flat(environment: Environment) -> dict[str, Any]:
    flat = asdict(environment)
    for field in ("thread_settings", "gpu", "libraries"):
        flat |= {f"{field}.{name}": value for name, value in dict(flat[field] or ()).items()}
    return flat | {"python": ".".join(environment.python.split(".")[:2])}


def _threads() -> int | None:
    """Return the number in OMP_NUM_THREADS, parsed as OpenMP does. Returns None if there is none."""
    text = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(text) if text.isascii() and text.isdecimal() else None


def _cpu_model() -> str:
    names = re.findall(r"^model name\s*: (.*)", read("proc/cpuinfo") or "", re.MULTILINE)
    return names[0] if names else platform.machine()


def _quota_cores() -> float | None:
    groups = re.findall(r"^0::/(.*)", read("proc/self/cgroup") or "", re.MULTILINE)
    folder = PurePosixPath("sys/fs/cgroup", *groups)
    # The limits of all parent groups apply as well.
    limits = [read(f"{path}/cpu.max") or "max" for path in (folder, *folder.parents)]
    quotas = [limit.split() for limit in limits if not limit.startswith("max")]
    return min((int(quota) / int(period) for quota, period in quotas), default=None)


def _governor() -> str:
    paths = (SYSTEM / "sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")
    return ", ".join(sorted({path.read_text(encoding="utf-8").strip() for path in paths}))


def _boost() -> bool | None:
    if no_turbo := read("sys/devices/system/cpu/intel_pstate/no_turbo"):
        return no_turbo == "0"
    boost = read("sys/devices/system/cpu/cpufreq/boost")
    return boost == "1" if boost else None


def _huge_pages() -> str:
    options = read("sys/kernel/mm/transparent_hugepage/enabled") or ""
    return options.partition("[")[2].partition("]")[0]


def _preloaded(pattern: str) -> str:
    names = (Path(path).name for path in re.split(r"[: ]", os.environ.get("LD_PRELOAD", "")))
    return next((name for name in names if re.search(pattern, name)), "")


def _gpu() -> Gpu | None:
    import pynvml

    with devices.gpu() as ask:
        if ask is None:
            return None
        model = ask("Name") or ""
        mode = ask("MigMode")
        cap_milliwatts = ask("PowerManagementLimit")
        return Gpu(
            name=model,
            driver=pynvml.nvmlSystemGetDriverVersion(),
            cuda=devices.torch_cuda_version(),
            graphics_clock_mhz=ask("ClockInfo", pynvml.NVML_CLOCK_GRAPHICS),
            power_cap_watts=cap_milliwatts and cap_milliwatts / 1000,
            # A MIG slice reports no mode.
            mig=" MIG " in model or (mode and bool(mode[0])),
        )
