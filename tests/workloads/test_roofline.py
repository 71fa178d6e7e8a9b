"""Rates measured on this machine, small and short; and what is made of them."""

import json

import pytest
import torch

from gnnbench.suite import roofline
from gnnbench.suite.roofline import Rates, measure, rates

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


def test_what_is_above_the_bound_is_explained(make_case):
    case = make_case("spmm_sum", "torch")
    work = roofline.least(case)
    for seconds, note in ((work.bytes / MIB, ""), (0.9 * work.bytes / MIB, roofline._ABOVE)):
        found = roofline.limit(case, seconds, lambda _: Rates(MIB, 1e12))
        assert (found.fraction, found.note) == (pytest.approx(work.bytes / MIB / seconds), note)


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_gpu_copies_and_multiplies_faster_than_a_laptop(dtype, monkeypatch):
    monkeypatch.setattr(roofline, "_SECONDS", 0.2)
    found = measure("cuda", dtype)
    assert 5e10 < found.copy_bytes_per_second < 1e14
    assert 1e12 < found.flops_per_second < 1e17
