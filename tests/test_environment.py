import json
import os
import subprocess
import sys
from dataclasses import asdict, fields, replace
from pathlib import Path

import psutil
import pytest
import torch

from gnnbench import environment
from gnnbench.environment import WHAT, WHERE, Environment, Gpu
from gnnbench.packages import version
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
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    for name in environment.THREAD_SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_PLACES", "cores")
    here = environment.collect()
    assert here.cpu
    assert here.architecture
    assert here.cores >= 1
    assert here.memory_bytes == psutil.virtual_memory().total
    assert here.wait_policy == "PASSIVE"
    assert here.thread_settings == (("OMP_PLACES", "cores"),)
    assert here.system.split()[0] == os.uname().sysname
    assert here.python == sys.version.split()[0]
    assert dict(here.libraries)["torch"] == version("torch") == torch.__version__
    assert (here.commit, here.dirty) == (None, None)
    assert replace(here, gpu=None) == environment.collect(device="cpu")


def test_asks_torch_for_threads_where_it_is_imported(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "77")
    assert environment.collect().threads == torch.get_num_threads() != 77


@pytest.mark.parametrize(("given", "threads"), [(None, 0), ("", 0), ("many", 0), ("0", 0), ("3,2", 3)])
def test_openmp_takes_every_core_where_no_number_is_given(monkeypatch, given, threads):
    monkeypatch.delitem(sys.modules, "torch")
    if given is None:
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    else:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    here = environment.collect()
    assert here.threads == (threads or here.cores)


def test_leaves_the_libraries_alone():
    code = (
        "import sys; from gnnbench import environment; environment.collect(); "
        f"assert not set(sys.modules) & set({environment.LIBRARIES})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_the_system_does_not_say_is_empty(system):
    here = system()
    assert here.cpu
    assert (here.governor, here.boost, here.huge_pages, here.quota_cores) == ("", None, "", None)


def test_reads_the_system_s_files(system):
    here = system(
        cpuinfo="processor\t: 0\nmodel name\t: Fast CPU\nprocessor\t: 1\nmodel name\t: Other",
        pages="always [madvise] never",
        governor="performance",
        governor_too="powersave",
    )
    assert (here.cpu, here.huge_pages, here.governor) == ("Fast CPU", "madvise", "performance, powersave")


@pytest.mark.parametrize(
    ("files", "boost"),
    [
        ({"no_turbo": "0", "boost": "0"}, True),
        ({"no_turbo": "1"}, False),
        ({"boost": "1"}, True),
        ({"boost": "0"}, False),
    ],
)
def test_boost_is_what_the_processor_s_driver_says(system, files, boost):
    assert system(**files).boost is boost


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"group": "0::/a/b", "quota": "150000 100000"}, 1.5),
        ({"group": "0::/a/b", "quota": "150000 100000", "quota_above": "50000 100000"}, 0.5),
        ({"group": "1:cpu:/x\n0::/a/b", "quota": "max 100000", "quota_above": "300000 100000"}, 3),
        ({"group": "0::/a/b", "quota": "max 100000"}, None),
        ({"group": "0::/", "quota_root": "200000 100000"}, 2),
        ({"quota_root": "200000 100000"}, 2),
        ({"group": "0::/a", "quota": "150000 100000"}, None),
    ],
)
def test_a_control_group_limits_what_is_below_it(system, files, cores):
    assert system(**files).quota_cores == cores


@pytest.mark.parametrize(
    ("preload", "allocator", "openmp"),
    [
        ("", "", ""),
        ("/lib/libfast.so /usr/lib/libjemalloc.so.2", "libjemalloc.so.2", ""),
        (
            "/malloc/libcompat.so:/x/libtcmalloc_minimal.so:/y/libiomp5.so",
            "libtcmalloc_minimal.so",
            "libiomp5.so",
        ),
        ("libgomp.so.1", "", "libgomp.so.1"),
    ],
)
def test_names_what_is_loaded_in_the_place_of_others(monkeypatch, preload, allocator, openmp):
    monkeypatch.setenv("LD_PRELOAD", preload)
    here = environment.collect(device="cpu")
    assert (here.allocator, here.openmp) == (allocator, openmp)


@pytest.mark.parametrize(
    ("visible", "number"),
    [(None, 0), ("1", 1), ("1,0", 1), (" 0 ", 0), ("GPU-bbbb-2", 1), ("GPU-bb,GPU-aa", 1), ("MIG-cccc-3", 2)],
)
def test_describes_the_gpu_that_cuda_takes_first(monkeypatch, visible, number):
    driver = nvml.install(monkeypatch)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    expected = Gpu("NVIDIA H100 80GB HBM3", "570.1", "13.0", 1980 + number, 2619 + number, 600.0, False)
    assert environment.collect().gpu == expected
    assert driver.opened == 0


@pytest.mark.parametrize("visible", ["", "-1", "2", "GPU-cc", "MIG-none", "NoDevFiles"])
def test_a_hidden_gpu_is_none(monkeypatch, visible):
    driver = nvml.install(monkeypatch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert environment.collect().gpu is None
    assert driver.opened == 0


def test_a_driver_without_an_answer_leaves_none(monkeypatch):
    nvml.install(monkeypatch, MigMode=None, PowerManagementLimit=None, ClockInfo=None)
    gpu = environment.collect().gpu
    assert gpu == Gpu("NVIDIA H100 80GB HBM3", "570.1", "13.0", None, None, None, None)


@pytest.mark.parametrize(
    ("changes", "mig"),
    [({"MigMode": [1, 1]}, True), ({"MigMode": None, "Name": "NVIDIA A100 MIG 1g.5gb"}, True), ({}, False)],
)
def test_sees_slices(monkeypatch, changes, mig):
    nvml.install(monkeypatch, **changes)
    assert environment.collect().gpu.mig is mig


def test_a_run_on_the_cpu_asks_for_no_gpu(monkeypatch):
    nvml.install(monkeypatch)
    assert environment.collect(device="cpu").gpu is None


@pytest.fixture
def git(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)

    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=b")
        command = ["git", "-C", tmp_path, *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init")
    return git


def test_names_the_commit_of_what_is_measured(monkeypatch, git, tmp_path):
    assert environment.collect(tmp_path).commit is None
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-m", "first")
    git("tag", "-a", "v1-x", "-m", "of a name that is not to be seen")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "another"))
    expected = git("--git-dir", tmp_path / ".git", "rev-parse", "HEAD")
    here = environment.collect(tmp_path)
    assert (here.commit, here.dirty) == (expected, False)
    (tmp_path / "file").write_text("2")
    here = environment.collect(tmp_path)
    assert (here.commit, here.dirty) == (expected, True)


def test_there_is_no_commit_without_git(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    here = environment.collect(Path(__file__).parent)
    assert (here.commit, here.dirty) == (None, None)


@pytest.fixture
def here(monkeypatch):
    nvml.install(monkeypatch)
    return environment.collect()


def test_every_compared_field_is_one():
    groups = {
        "gpu": {field.name for field in fields(Gpu)},
        "thread_settings": set(environment.THREAD_SETTINGS),
        "libraries": set(environment.LIBRARIES),
    }
    single = {field.name for field in fields(Environment)}
    for name in (*WHERE, *WHAT):
        group, _, rest = name.partition(".")
        assert rest in groups[group] if rest else name in single - set(groups)


def test_an_environment_and_its_file_compare(here):
    saved = json.loads(json.dumps(asdict(here)))
    assert environment.differences(asdict(here), saved) == []
    assert environment.name(asdict(here)) == environment.name(saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"commit": "abc", "dirty": True},
        {"memory_bytes": 1},
        {"system": "Linux 9"},
        {"python": "3.12.2"},
        {"libraries": [["torch", "2.14"]]},
        {"gpu": {"cuda": "13.0"}},
        {"gpu": {"graphics_clock_mhz": 200, "memory_clock_mhz": 100}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_timings_hardly_feel_does_not_part_them(here, changes):
    one = asdict(replace(here, libraries=(("torch", "2.13.0+cpu"),), python="3.11.2"))
    changes = {**changes, "gpu": {**one["gpu"], **changes.get("gpu", {})}}
    assert environment.differences(one, {**one, **changes}) == []
    assert environment.name(one) == environment.name({**one, **changes})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cpu": "Other"}, ("cpu", "Fast", "Other")),
        ({"threads": 3}, ("threads", 2, 3)),
        ({"thread_settings": [["OMP_PLACES", "cores"]]}, ("thread_settings.OMP_PLACES", None, "cores")),
        ({"gpu": {"driver": "999"}}, ("gpu.driver", "570.1", "999")),
        ({"gpu": {"power_cap_watts": 700.0}}, ("gpu.power_cap_watts", 600.0, 700.0)),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_names_the_field_that_differs(here, changes, expected):
    one = asdict(
        replace(here, cpu="Fast", threads=2, thread_settings=(), libraries=(("torch", "2.13.0+cpu"),))
    )
    one["python"] = "3.11.2"
    other = {**one, **changes, "gpu": {**one["gpu"], **changes.get("gpu", {})}}
    assert environment.differences(one, other) == [expected]
    assert environment.differences(other, one) == [(expected[0], expected[2], expected[1])]
    assert environment.name(one) != environment.name(other)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"python": "3.12.2"}, ("python", "3.11", "3.12")),
        ({"libraries": [["torch", "2.14"]]}, ("libraries.torch", "2.13.0+cpu", "2.14")),
        ({"libraries": [["torch", "2.13.0+cpu"], ["dgl", "2.1"]]}, ("libraries.dgl", None, "2.1")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_versions_are_compared_where_they_must_be_equal(here, changes, expected):
    one = {**asdict(replace(here, libraries=(("torch", "2.13.0+cpu"),))), "python": "3.11.2"}
    other = {**one, **changes}
    assert environment.differences(one, other, WHAT) == [expected]
    assert environment.name_with_versions(one) != environment.name_with_versions(other)
    unfelt = {**one, "python": "3.11.99", "libraries": [["torch", "2.13.0+cpu"], ["ogb", "1.0.0"]]}
    assert environment.differences(one, unfelt, WHAT) == []


def test_a_machine_without_a_gpu_differs_in_all_that_is_known_of_it(here):
    found = [field for field, _, _ in environment.differences(asdict(here), {**asdict(here), "gpu": None})]
    assert found == [name for name in WHERE if name.startswith("gpu.")]


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
    one = asdict(replace(here, cpu=cpu, gpu=gpu, libraries=(("torch", "2.13.0+cpu"),)))
    for name, versions in (
        (environment.name(one), ""),
        (environment.name_with_versions(one), "torch-2.13.0_"),
    ):
        assert name[:-8] == f"{expected}{versions}"
        assert int(name[-8:], 16) >= 0


@pytest.mark.parametrize(
    ("before", "policy"),
    [("", "PASSIVE"), ("os.environ['OMP_WAIT_POLICY'] = 'ACTIVE'", "ACTIVE"), ("import torch", "")],
    ids=["unset", "set by the user", "too late"],
)
def test_idle_threads_sleep_unless_it_is_the_user_s_wish_or_too_late(before, policy):
    code = (
        "import os; os.environ.pop('OMP_WAIT_POLICY', None)\n"
        f"{before}\n"
        "from gnnbench import environment\n"
        "environment.let_idle_threads_sleep()\n"
        f"assert environment.collect().wait_policy == {policy!r}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_describes_the_gpu_that_is_chosen(monkeypatch):
    nvml.install(monkeypatch)
    found = [environment.collect(gpu=number).gpu.graphics_clock_mhz for number in (None, 0, 1)]
    assert found == [1980, 1980, 1981]
