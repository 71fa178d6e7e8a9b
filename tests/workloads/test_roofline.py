"""Rates measured on this machine, small and short; and what is made of them."""

import json

import pytest
import torch

from gnnbench.engine.ground.labels import Work
from gnnbench.suite import roofline
from gnnbench.suite.roofline import Rates, explain, last_level_cache_bytes, measure, rates

MIB = 2**20
SENTINEL = {"copy_bytes_per_second": 1.5, "flops_per_second": 2.5}


@pytest.fixture(autouse=True)
def _briefly_and_in_little_memory(monkeypatch):
    monkeypatch.setattr(roofline, "_SECONDS", 0.01)
    monkeypatch.setattr(roofline, "memory_free", lambda: 16 * MIB)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_measures_plausible_rates_in_an_eighth_of_the_free_memory(dtype, monkeypatch):
    taken = []
    for make in (torch.ones, torch.rand):

        def recorded(*args, make=make, **kwargs):
            tensor = make(*args, **kwargs)
            taken.append(2 * tensor.nbytes)  # each has a second of its size beside it
            return tensor

        monkeypatch.setattr(torch, make.__name__, recorded)
    before = torch.random.get_rng_state()
    found = measure("cpu", dtype)
    assert 1e6 < found.copy_bytes_per_second < 1e14
    assert 1e6 < found.flops_per_second < 1e17
    assert 0 < max(taken) <= 2 * MIB
    assert torch.equal(torch.random.get_rng_state(), before), "random numbers are the user's"


def test_measures_once_for_each_environment_and_dtype(tmp_path):
    file = tmp_path / "rates/here-cpu.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"version": 1, "rates": {"float32": SENTINEL}}))
    assert rates("cpu", "float32", "here", tmp_path) == Rates(1.5, 2.5)
    assert rates("cpu", "float64", "here", tmp_path).flops_per_second > 2.5
    assert json.loads(file.read_text())["rates"]["float32"] == SENTINEL
    assert rates("cpu", "float32", "elsewhere", tmp_path).flops_per_second > 2.5
    assert (tmp_path / "rates/elsewhere-cpu.json").exists()


@pytest.mark.parametrize(
    ("work", "seconds", "cache_bytes", "expected"),
    [
        pytest.param(Work(12 * MIB, 1000), 12.0, 32 * MIB, "", id="not above one"),
        pytest.param(Work(33 * MIB, 0), 40.0, None, "", id="not above one, cache unknown"),
        pytest.param(Work(12 * MIB, 1000), 11.0, 12 * MIB, "the data fits in cache: 12.0 MiB", id="in cache"),
        pytest.param(Work(12 * MIB, 0), 11.0, 12 * MIB - 1, "above the saved rates", id="too large"),
        pytest.param(Work(12 * MIB, 0), 11.0, None, "above the saved rates", id="cache unknown"),
        pytest.param(Work(MIB, 1000), 9.0, 32 * MIB, "above the saved rates", id="more flops than can be"),
    ],
)
def test_what_is_above_one_is_explained(work, seconds, cache_bytes, expected):
    found = explain(work, seconds, Rates(copy_bytes_per_second=MIB, flops_per_second=100), cache_bytes)
    assert found.startswith(expected)
    assert bool(found) == bool(expected)


def test_adds_up_last_level_caches_each_once(tmp_path):
    assert last_level_cache_bytes("cpu", tmp_path) is None
    for core in range(4):  # two to each last-level cache
        pair = "0-1" if core < 2 else "2-3"
        for index, texts in enumerate([("1", str(core), "999K"), ("3", pair, "512K")]):
            folder = tmp_path / f"sys/devices/system/cpu/cpu{core}/cache/index{index}"
            folder.mkdir(parents=True)
            for name, text in zip(("level", "shared_cpu_list", "size"), texts, strict=True):
                (folder / name).write_text(f"{text}\n")
    assert last_level_cache_bytes("cpu", tmp_path) == 2 * 512 * 1024
    here = last_level_cache_bytes("cpu")
    assert here is None or (here > 0 and here % 1024 == 0)


def test_products_grow_though_the_first_one_loads_a_library(monkeypatch):
    """On a GPU that takes longer than all of them together."""
    product, sides = torch.mm, []

    class Clock:
        now = 0.0

        @classmethod
        def seconds(cls):
            return cls.now

    def slow_at_first(one, other, out):
        Clock.now += 1e-12 * len(one) ** 3 if sides else 10 * roofline._SECONDS
        sides.append(len(one))
        return product(one, other, out=out)

    monkeypatch.setattr(roofline, "RealTime", Clock)
    monkeypatch.setattr(torch, "mm", slow_at_first)
    assert roofline._matrix_rate("cpu", torch.float32, 1 << 24) == pytest.approx(2e12)
    assert max(sides) > min(sides)


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_gpu_copies_and_multiplies_faster_than_a_laptop(dtype, monkeypatch):
    monkeypatch.setattr(roofline, "_SECONDS", 0.2)
    found = measure("cuda", dtype)
    assert 5e10 < found.copy_bytes_per_second < 1e14
    assert 1e12 < found.flops_per_second < 1e17
    assert last_level_cache_bytes("cuda") > MIB
