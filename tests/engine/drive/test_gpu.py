"""Two verdicts on a GPU that is simulated: its own time, and what the host does for it."""

import re

import psutil
import pytest

from gnnbench.engine.drive import coordinator, result
from gnnbench.engine.ground.codec import as_text
from gnnbench.engine.process import pairs
from gnnbench.engine.process.processes import Processes
from gnnbench.engine.show import verdicts
from gnnbench.engine.show.console import Terminal
from tests.engine.process.workers import Watcher, clean, machine, plan, prepared, write

SUITE = """
import os

import pytest
import torch

VALUES = torch.arange(6.0)

def work(values):
    return values + 1

def more_work(values):
    return values + 1 + 0 if os.environ["SIDE"] == "head" else values + 1

@pytest.mark.parametrize("function", [work, more_work], ids=["work", "more_work"])
@pytest.mark.parametrize("name", ["identical", "slower", "on_host", "short"])
def test_kernel(benchmark, name, function):
    benchmark(function, VALUES)
"""
WALL, GPU, SHORT = 4e-4, 1e-4, 5e-6
LAUNCHES = ["add [1, 1, 1] [128, 1, 1] 0"]
IDENTICAL = {"seconds": WALL, "gpu_seconds": GPU, "launches": LAUNCHES}
CHANGED = {
    "test_kernel[slower-work]": {"seconds": WALL, "gpu_seconds": 1.015 * GPU, "launches": LAUNCHES},
    "test_kernel[on_host-more_work]": {"seconds": 1.5 * WALL, "gpu_seconds": GPU, "launches": LAUNCHES},
}
NAMES = ["test_kernel[identical-more_work]", "test_kernel[short-work]", *CHANGED]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Return the result of a run on processes whose wall times differ by 3 %, and GPU times by 0.3 %."""
    folder = tmp_path_factory.mktemp("gpu")
    write(folder, SUITE)
    truths = {f"test_suite.py::{name}": IDENTICAL for name in NAMES}
    truths["test_suite.py::test_kernel[short-work]"] = {"seconds": WALL, "gpu_seconds": SHORT}
    noise = {"process_sigma": 0.03, "gpu_process_sigma": 0.002}
    sides = []
    for side, changes in (("base", {}), ("head", CHANGED)):
        times = {**truths, **{f"test_suite.py::{name}": truth for name, truth in changes.items()}}
        clock = machine(folder / f"{side}.json", times, **noise)
        sides.append(prepared(f"env:SIDE={side}", SIDE=side, GNNBENCH_FAKE_CLOCK=clock))
    names = [f"test_suite.py::{name}" for name in NAMES]
    run = plan(folder, arguments=tuple(names), seed=1, time_all=True, per_benchmark_seconds=12.0)
    with pytest.MonkeyPatch.context() as patch:
        clean(patch)
        patch.chdir(folder)
        return coordinator.run(*sides, run, Watcher())


def rows(judged):
    return {row.fullname.partition("::")[2]: row for row in judged.rows}


@pytest.mark.parametrize(
    ("name", "verdict", "gpu", "host"),
    [
        ("identical-more_work", "same", "same", "same"),
        ("slower-work", "slower", "slower", "same"),
        ("on_host-more_work", "slower", "same", "slower"),
    ],
)
def test_a_slowdown_counts_on_the_gpu_and_on_the_host(judged, name, verdict, gpu, host):
    row = rows(judged)[f"test_kernel[{name}]"]
    assert (row.judgement.verdict, row.on.gpu.verdict, row.on.host.verdict) == (verdict, gpu, host)
    assert row.is_worse == (verdict == "slower")
    assert judged.control.low < judged.control.ratio < judged.control.high, "of the GPU's own time, too"
    assert row.seconds == pytest.approx(GPU, rel=0.05), "the GPU's own time"
    assert row.on.wall_seconds == pytest.approx(WALL, rel=0.7)
    assert "host-bound, the GPU works" in row.notes[-1]


def test_the_work_that_the_host_has_more_is_counted(judged):
    row = rows(judged)["test_kernel[on_host-more_work]"]
    assert "counters: +1 aten::add" in " ".join(row.notes)
    assert rows(judged)["test_kernel[slower-work]"].on.host.reason.startswith("equal numbers of operators")


def test_a_gpu_that_hardly_works_is_judged_by_wall_time(judged):
    row = rows(judged)["test_kernel[short-work]"]
    assert row.on is None
    assert row.seconds == pytest.approx(WALL, rel=0.3)
    assert "20 µs" in " ".join(row.notes)


def test_both_verdicts_are_printed_and_saved(judged, tmp_path):
    file = tmp_path / "ab.json"
    file.write_text(as_text(judged))
    saved = result.read(file)
    assert [row.on.gpu.low for row in saved.rows if row.on] == [
        row.on.gpu.low for row in judged.rows if row.on
    ]
    text = Terminal(100).write(verdicts.document(saved.comparison, result=saved))
    assert "GPU" in text
    assert re.search("1.0[12]x slower same", text), "it is 1.015"


def test_processes_of_the_next_pair_start_while_one_measures(tmp_path, monkeypatch):
    """Where they cannot be forked, as with CUDA; here a thread is in the way."""
    thread = "import threading\n\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    write(tmp_path, f"{thread}\ndef test_sum(benchmark):\n    benchmark(sum, [1, 2])\n")
    clock = machine(tmp_path / "times.json", {"test_suite.py::test_sum": IDENTICAL}, gpu_process_sigma=0.003)
    side = prepared("env:SIDE=any", GNNBENCH_FAKE_CLOCK=clock)
    monkeypatch.chdir(tmp_path)
    clean(monkeypatch)
    monkeypatch.setattr(pairs, "_FEWEST_CORES", 1)
    watcher, launched, ahead = Watcher(), Processes._new_child, []

    def noting(self, *arguments, **settings):
        ahead.append(f"starting the processes of pair {self.number - 1}" in watcher.steps[-1][0])
        return launched(self, *arguments, **settings)

    monkeypatch.setattr(Processes, "_new_child", noting)
    coordinator.run(side, side, plan(tmp_path, seed=1, time_all=True, per_benchmark_seconds=60.0), watcher)
    first = ahead.index(True)
    assert first > 4, "it is not known before the first pair that a GPU is timed"
    assert len(ahead) > first + 4
    assert all(ahead[first:])
    children = psutil.Process().children(recursive=True)
    assert not [child.pid for child in children if child.cwd() == str(tmp_path)]


LAUNCHED = """
import os

import pytest
import torch

VALUES = torch.arange(6.0)
STEPS = int(os.environ["GNNBENCH_STEPS"])

def step(values):
    return values

def more_python(values):
    for _ in range(STEPS):
        values = step(values)
    return values + 1

@pytest.mark.parametrize("name", ["same", "slower", "other"])
def test_kernel(benchmark, name):
    benchmark(more_python, VALUES)
"""
OF_HEAD = {"slower": {"gpu_seconds": 1.5 * GPU}, "other": {"launches": ["add [2, 1, 1] [64, 1, 1] 0"]}}


def test_the_same_launches_on_the_same_values_are_not_timed(tmp_path, monkeypatch):
    """But what the host does for them is, and a GPU that works longer for the same launches."""
    write(tmp_path, LAUNCHED)
    noise = {"process_sigma": 0.01, "gpu_process_sigma": 0.002, "gpu_throttled": 0.1}
    sides = []
    for steps, changes in (("1", {}), ("20", OF_HEAD)):
        times = {
            f"test_kernel[{name}]": {**IDENTICAL, **changes.get(name, {})} for name in ("same", *OF_HEAD)
        }
        clock = machine(tmp_path / f"{steps}.json", times, **noise)
        sides.append(prepared(f"env:GNNBENCH_STEPS={steps}", GNNBENCH_STEPS=steps, GNNBENCH_FAKE_CLOCK=clock))
    clean(monkeypatch)
    monkeypatch.chdir(tmp_path)
    run = plan(tmp_path, seed=1, per_benchmark_seconds=12.0)
    same, slower, other = coordinator.run(*sides, run, Watcher()).rows
    assert same.on.gpu.reason == "launches the same kernels on the same values"
    assert same.on.gpu.low is None
    assert same.on.host.low is not None, "it runs more Python functions"
    verdicts_of = [(row.judgement.verdict, row.on.gpu.verdict) for row in (same, slower, other)]
    assert verdicts_of == [("same", "same"), ("slower", "slower"), ("same", "same")]
    assert other.on.gpu.low is not None
    assert "launches add [2, 1, 1] [64, 1, 1] 0 in place of add [1, 1, 1]" in " ".join(other.notes)
