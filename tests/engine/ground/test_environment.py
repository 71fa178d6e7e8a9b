import json
import os
import re
import sys
from dataclasses import fields, replace

import psutil
import pytest
import torch

from gnnbench.engine.ground import codec, environment
from gnnbench.engine.ground.environment import CONDITIONS, VERSIONS, Environment, Gpu
from gnnbench.engine.ground.packages import version
from tests import nvml


@pytest.fixture
def system(monkeypatch, tmp_path):
    """Make a machine of the files that it has under / ."""
    monkeypatch.setattr(environment, "SYSTEM", tmp_path)

    def system(**files):
        for name, text in files.items():
            path = tmp_path / PATHS[name]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        return environment.collect()

    return system


PATHS = {
    "cpuinfo": "proc/cpuinfo",
    "group": "proc/self/cgroup",
    "pages": "sys/kernel/mm/transparent_hugepage/enabled",
    "quota": "sys/fs/cgroup/a/b/cpu.max",
    "quota_above": "sys/fs/cgroup/a/cpu.max",
    "quota_root": "sys/fs/cgroup/cpu.max",
    "governor": "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "governor_too": "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
    "no_turbo": "sys/devices/system/cpu/intel_pstate/no_turbo",
    "boost": "sys/devices/system/cpu/cpufreq/boost",
}


def test_collects_what_is_here(monkeypatch):
    for name in environment.THREAD_SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_PLACES", "cores")
    here = environment.collect()
    assert here.cpu
    assert here.architecture
    assert here.cores >= 1
    assert here.memory_bytes == psutil.virtual_memory().total
    assert here.thread_settings == (("OMP_PLACES", "cores"),)
    assert here.system.split()[0] == os.uname().sysname
    assert here.python == sys.version.split()[0]
    assert dict(here.libraries)["torch"] == version("torch")
    assert (here.commit, here.dirty) == (None, None)


def test_torch_knows_its_threads_and_before_it_is_imported_openmp_s_variable_counts(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "77")
    assert environment.collect().threads == torch.get_num_threads() != 77
    monkeypatch.delitem(sys.modules, "torch")
    for given, threads in (("", 0), ("many", 0), ("0", 0), ("3,2", 3)):
        monkeypatch.setenv("OMP_NUM_THREADS", given)
        here = environment.collect()
        assert here.threads == (threads or here.cores)


def test_reads_the_system_s_files_and_what_they_do_not_say_is_empty(system):
    here = system()
    assert here.cpu
    assert (here.governor, here.boost, here.huge_pages, here.quota_cores) == ("", None, "", None)
    here = system(
        cpuinfo="processor\t: 0\nmodel name\t: Fast CPU\nprocessor\t: 1\nmodel name\t: Other",
        pages="always [madvise] never",
        governor="performance",
        governor_too="powersave",
    )
    assert (here.cpu, here.huge_pages, here.governor) == ("Fast CPU", "madvise", "performance, powersave")


@pytest.mark.parametrize(
    ("name", "files", "value"),
    [
        ("boost", {"no_turbo": "0", "boost": "0"}, True),
        ("boost", {"no_turbo": "1"}, False),
        ("boost", {"boost": "0"}, False),
        # A control group limits what is below it.
        ("quota_cores", {"group": "0::/a/b", "quota": "150000 100000"}, 1.5),
        ("quota_cores", {"group": "0::/a/b", "quota": "150000 100000", "quota_above": "50000 100000"}, 0.5),
        ("quota_cores", {"group": "1:cpu:/x\n0::/a/b", "quota": "max 1", "quota_above": "300000 100000"}, 3),
        ("quota_cores", {"group": "0::/a/b", "quota": "max 100000"}, None),
        ("quota_cores", {"group": "0::/", "quota_root": "200000 100000"}, 2),
        ("quota_cores", {"quota_root": "200000 100000"}, 2),
        ("quota_cores", {"group": "0::/a", "quota": "150000 100000"}, None),
    ],
)
def test_boost_is_what_the_driver_says_and_a_quota_what_all_groups_above_leave(system, name, files, value):
    assert getattr(system(**files), name) == value


def test_names_what_is_loaded_in_the_place_of_others(monkeypatch):
    for preload, *expected in (
        ("", "", ""),
        ("/lib/libfast.so /usr/lib/libjemalloc.so.2", "libjemalloc.so.2", ""),
        ("/malloc/libcompat.so:/x/libtcmalloc.so:/y/libiomp5.so", "libtcmalloc.so", "libiomp5.so"),
        ("libgomp.so.1", "", "libgomp.so.1"),
    ):
        monkeypatch.setenv("LD_PRELOAD", preload)
        here = environment.collect(device="cpu")
        assert [here.allocator, here.openmp] == expected


def test_describes_the_gpu_that_cuda_takes_first(monkeypatch):
    driver = nvml.install(monkeypatch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    here = environment.collect()
    assert here.gpu == Gpu("NVIDIA H100 80GB HBM3", "570.1", "13.0", 1981, 600.0, False)
    assert environment.collect(device="cpu") == replace(here, gpu=None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert environment.collect().gpu is None
    assert driver.opened == 0


def test_a_driver_without_an_answer_leaves_none(monkeypatch):
    nvml.install(monkeypatch, MigMode=None, PowerManagementLimit=None, ClockInfo=None)
    gpu = environment.collect().gpu
    assert gpu == Gpu("NVIDIA H100 80GB HBM3", "570.1", "13.0")
    for changes in ({"MigMode": [1, 1]}, {"MigMode": None, "Name": "NVIDIA A100 MIG 1g.5gb"}):
        nvml.install(monkeypatch, **changes)
        assert environment.collect().gpu.mig is True


@pytest.fixture
def here(monkeypatch):
    nvml.install(monkeypatch)
    return environment.collect()


def test_every_compared_field_is_one_and_a_saved_environment_is_equal(here):
    groups = {
        "gpu": {field.name for field in fields(Gpu)},
        "thread_settings": set(environment.THREAD_SETTINGS),
        "libraries": set(environment.LIBRARIES),
    }
    single = {field.name for field in fields(Environment)}
    for name in (*CONDITIONS, *VERSIONS):
        group, _, rest = name.partition(".")
        assert rest in groups[group] if rest else name in single - set(groups)
    assert codec.decode(json.loads(json.dumps(codec.encode(here))), Environment) == here


TORCH = (("torch", "2.13.0+cpu"),)
UNFELT = {"commit": "abc", "dirty": True, "memory_bytes": 1, "system": "Linux 9", "python": "3.11.99"}
UNFELT |= {"gpu": {"graphics_clock_mhz": 200}, "libraries": (*TORCH, ("ogb", "1.0.0"))}
"""What timings hardly feel."""


@pytest.mark.parametrize(
    ("changes", "where", "what"),
    [
        (UNFELT, [], []),
        ({"cpu": "Other"}, [("cpu", "Fast", "Other")], []),
        ({"thread_settings": (("OMP_PLACES", "0"),)}, [("thread_settings.OMP_PLACES", None, "0")], []),
        ({"gpu": {"driver": "999"}}, [("gpu.driver", "570.1", "999")], []),
        ({"gpu": {"cuda": "13.1"}}, [], [("gpu.cuda", "13.0", "13.1")]),
        ({"python": "3.12.2"}, [], [("python", "3.11", "3.12")]),
        ({"libraries": (*TORCH, ("dgl", "2.1"))}, [], [("libraries.dgl", None, "2.1")]),
    ],
)
def test_names_the_field_that_differs_if_it_is_compared(here, changes, where, what):
    base = replace(here, cpu="Fast", thread_settings=(), python="3.11.2", libraries=TORCH)
    head = replace(base, **{**changes, "gpu": replace(base.gpu, **changes.get("gpu", {}))})
    assert environment.differences(base, head) == where
    assert environment.differences(base, head, VERSIONS) == what
    assert (environment.name(base) == environment.name(head)) == (not where)
    assert (environment.name(base, VERSIONS) == environment.name(head, VERSIONS)) == (not what)


@pytest.mark.parametrize(
    ("cpu", "gpu", "expected"),
    [
        ("Intel(R) Xeon(R) Platinum 8480+ CPU @ 2.00GHz", None, "intel-xeon-platinum-8480_"),
        ("AMD EPYC", "NVIDIA H100 80GB HBM3", "nvidia-h100-80gb-hbm3_"),
        ("../" + "long " * 30, None, "long-long-long-long-long-long-long-long_"),
    ],
)
def test_name_is_a_folder_s(here, cpu, gpu, expected):
    gpu = replace(here.gpu, name=gpu) if gpu else None
    machine = replace(here, cpu=cpu, gpu=gpu, libraries=TORCH)
    assert re.fullmatch(rf"{expected}[0-9a-f]{{8}}", environment.name(machine))
