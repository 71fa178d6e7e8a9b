import sys

import pytest

from gnnbench.engine.cli import doctor
from gnnbench.engine.ground import environment
from gnnbench.engine.ground.packages import missing, version
from gnnbench.suite.libraries import uses_stand_in
from gnnbench.suite.platforms import PLATFORMS, why_not_on
from tests import nvml


@pytest.fixture
def examine(tmp_path):
    def examine(data_root=None, cache=tmp_path / "cache"):
        return {finding.what: finding for finding in doctor.examine({"data": data_root}, cache)}

    return examine


@pytest.fixture
def system(monkeypatch, tmp_path):
    """Look for disturbances on a machine of the files that it has under / ."""
    monkeypatch.setattr(environment, "SYSTEM", tmp_path)

    def system(files=()):
        for name, text in dict(files).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        here = environment.collect()
        return {finding.what: finding for finding in doctor._disturbances(here)}

    return system


def test_what_is_installed_is_there_with_its_version(examine, tmp_path):
    found = examine(tmp_path)
    assert found["python"].detail == sys.version.split()[0]
    for package in ("torch", "torch_geometric", "ogb"):
        assert (found[package].status, found[package].detail) == ("ok", version(package))
    assert (found["data"].status, found["data"].detail) == ("ok", str(tmp_path))
    assert found["cache"].status == "ok"
    assert not (tmp_path / "cache").exists()
    assert not [finding.what for finding in found.values() if finding.status == "missing"]

    if not missing(["dgl"]):
        finding = found["dgl"]
        assert finding.status == ("note" if uses_stand_in() else "ok")
        assert finding.detail.startswith(version("dgl"))
        assert ("graphbolt" in finding.detail) == uses_stand_in()


def test_no_data_folder_is_a_note(monkeypatch, examine):
    monkeypatch.delenv("GNNBENCH_DATA", raising=False)
    finding = examine()["data"]
    assert finding.status == "note"
    assert "GNNBENCH_DATA" in finding.remedy


@pytest.mark.parametrize("below", ["", "cache", "deep/er/cache"])
def test_cache_under_a_file_cannot_be_written(tmp_path, below):
    file = tmp_path / "file"
    file.touch()
    finding = doctor._cache(file / below)
    assert finding.status == "missing"
    assert "GNNBENCH_CACHE" in finding.remedy


def test_threads_that_spin_are_noted(monkeypatch, system):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert system()["idle threads"].detail.startswith("OMP_WAIT_POLICY is unset: ")
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert system()["idle threads"].detail.startswith("OMP_WAIT_POLICY is ACTIVE: ")
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    assert "idle threads" not in system()


CPU = "sys/devices/system/cpu"
PAGES = "sys/kernel/mm/transparent_hugepage/enabled"


@pytest.mark.parametrize(
    ("what", "file", "bad", "good", "remedy"),
    [
        ("hyperthreads", f"{CPU}/smt/active", "1", "0", "OMP_PLACES=cores"),
        ("governor", f"{CPU}/cpu0/cpufreq/scaling_governor", "powersave", "performance", "cpupower"),
        ("turbo", f"{CPU}/intel_pstate/no_turbo", "0", "1", f"echo 1 | sudo tee /{CPU}/intel"),
        ("turbo", f"{CPU}/cpufreq/boost", "1", "0", f"echo 0 | sudo tee /{CPU}/cpuf"),
        ("huge pages", PAGES, "[always] madvise never", "always [madvise] never", f"tee /{PAGES}"),
        ("virtual machine", "proc/cpuinfo", "flags : fpu hypervisor adx", "flags : fpu adx", "gnnbench ab"),
        ("CPU quota", "sys/fs/cgroup/cpu.max", "50000 100000", "max 100000", "OMP_NUM_THREADS=1"),
    ],
)
def test_a_setting_that_disturbs_is_noted_with_its_remedy(system, what, file, bad, good, remedy):
    assert what not in system()
    assert what not in system({file: good})
    finding = system({file: bad})[what]
    assert finding.status == "note"
    assert remedy in finding.remedy


def test_shows_the_machine_and_its_settings(monkeypatch, system, examine):
    monkeypatch.setenv("OMP_PLACES", "cores")
    monkeypatch.setenv("LD_PRELOAD", "/lib/libjemalloc.so.2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    system({"proc/cpuinfo": "model name : Fast", PAGES: "[never]"})
    found, here = examine(), environment.collect()
    memory = f"{here.memory_bytes / 2**30:.0f} GiB"
    counts = f"{here.cores} cores, {here.threads} threads"
    assert found["processor"].detail == f"Fast, {here.architecture}, {counts}, {memory}"
    assert found["system"].detail == f"{here.system}, huge pages never, libjemalloc.so.2, OMP_PLACES=cores"
    hidden = "not available: CUDA_VISIBLE_DEVICES hides every GPU"
    assert (found["cuda"].status, found["cuda"].detail) == ("note", hidden)


def test_a_gpu_s_settings_are_shown_and_noted(monkeypatch, examine):
    nvml.install(monkeypatch, MigMode=[1, 1])
    found = examine()
    assert (found["cuda"].status, found["cuda"].detail) == (
        "ok",
        "NVIDIA H100 80GB HBM3, driver 570.1, CUDA 13.0, 1980 MHz now, power cap 600 W",
    )
    for what, detail, remedy in (
        ("GPU clocks", "up to 1980 MHz", "nvidia-smi -lgc"),
        ("GPU power", "capped at 600 W; the default is 700 W", "nvidia-smi -pl 700"),
        ("GPU load", "process 12", "stop"),
        ("compute mode", "needs two", "nvidia-smi -c DEFAULT"),
        ("MIG", "slices", "idle"),
    ):
        assert found[what].status == "note"
        assert detail in found[what].detail
        assert remedy in found[what].remedy


QUIET = {
    "CurrentClocksEventReasons": 3,
    "PowerManagementLimit": 700_000,
    "ComputeRunningProcesses": [],
    "ComputeMode": 0,
}


@pytest.mark.parametrize("answers", [QUIET, dict.fromkeys((*nvml.ANSWERS,))], ids=["quiet", "silent"])
def test_a_gpu_without_disturbances_or_answers_has_no_notes(monkeypatch, answers):
    nvml.install(monkeypatch, **answers)
    gpu = environment.collect().gpu
    assert not list(doctor._gpu_disturbances(gpu))
    finding = doctor._cuda(gpu)
    assert finding.status == "ok"
    assert "None" not in finding.detail


def test_a_gpu_that_is_named_wrongly_is_a_note(monkeypatch):
    nvml.install(monkeypatch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    finding = doctor._cuda(environment.collect().gpu)
    assert (finding.status, finding.detail[-44:]) == ("note", "finds no GPU that CUDA_VISIBLE_DEVICES names")


@pytest.mark.parametrize(
    ("platform", "remedy"), [("sparse", "torch_scatter torch_sparse"), ("dgl", "dgl.ai")]
)
def test_what_was_built_for_the_cpu_is_noted_beside_a_gpu(monkeypatch, examine, platform, remedy):
    if reason := missing(PLATFORMS[platform].packages):
        pytest.skip(reason)
    what = f"{platform} on CUDA"
    assert what not in examine()
    nvml.install(monkeypatch)
    if why_not_on(platform, "cuda") is None:
        pytest.skip("built with CUDA here")
    finding = examine()[what]
    assert (finding.status, finding.detail.endswith("built without CUDA")) == ("note", True)
    assert remedy in finding.remedy
