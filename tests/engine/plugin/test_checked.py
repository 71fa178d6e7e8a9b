"""A kernel of one's own is compared with its reference before and after it is timed."""

import json
import re

import pytest

from tests.runs import SMALL, run_kernels

KERNELS = """
import itertools

import pytest
import torch

def of(name, *directions):
    return pytest.mark.operations(name, platforms=["torch"], directions=directions or ("forward",))

@of("later", "forward", "forward_backward")
def test_later(case, measure):
    calls = itertools.count()
    measure(lambda x: x * (2 if next(calls) < 3 else 3), case.features(), reference=lambda graph, x: x * 2)

@of("later_gradient", "forward_backward")
def test_later_gradient(case, measure):
    calls = itertools.count()

    def run(x):
        return x * 2 if next(calls) < 3 else x + x.detach()

    measure(run, case.features(), reference=lambda graph, x: x * 2)

@of("adds")
def test_in_place(case, measure):
    measure(lambda x: x.add_(1), case.features(), reference=lambda graph, x: x + 1)

@of("seeded")
def test_seeded(case, measure, benchmark):
    def run(x):
        torch.manual_seed(0)
        return x + torch.rand(1, dtype=torch.float64).to(x.dtype)

    measure(run, case.features(), reference=lambda graph, x: run(x))
    assert 0 < benchmark.reference_error < 0.01

@of("layer", "forward", "forward_backward")
def test_layer(case, measure):
    layer = torch.nn.Linear(8, 4).to(case.device, case.dtype)
    weight, bias = layer.weight.detach().double().cpu(), layer.bias.detach().double().cpu()
    measure(layer, case.features(8), reference=lambda graph, x: x @ weight.T + bias)

@of("weights", "forward", "forward_backward")
def test_weights(case, measure):
    layer = torch.nn.Linear(8, 4).to(case.device, case.dtype)

    def run(layer, x):
        return layer(x)

    measure(run, layer, case.features(8), reference=lambda graph, weight, bias, x: x @ weight + bias)

@of("twice")
def test_twice(case, measure):
    measure(lambda x: x * 2, case.features(), reference=lambda graph, x: x * 2)
    measure(lambda x: x * 3, case.features(), reference=lambda graph, x: x * 3)
"""


def test_a_kernel_that_is_wrong_later_fails_and_its_times_are_not_saved(tmp_path):
    (tmp_path / "test_own.py").write_text(KERNELS)
    words = (*SMALL, "--benchmark-max-time", "0.02", "--benchmark-json=run.json")
    result = run_kernels(*words, cwd=tmp_path)
    out = result.stdout
    assert result.returncode == pytest.ExitCode.TESTS_FAILED, out
    assert "Traceback" not in out
    for name, direction in (("later", "forward"), ("later", "forward_backward")):
        line = rf"^in a call after the timing: {name}-{direction}-torch-\S+: output is wrong: largest error"
        assert re.search(line, out, re.MULTILINE), out
    line = r"^in a call after the timing: later_gradient-\S+: the gradient of input tensor 0 is wrong"
    assert re.search(line, out, re.MULTILINE), out
    line = r"^twice-\S+: measure was already called in this test: write a test for each kernel$"
    assert re.search(line, out, re.MULTILINE), out
    saved = json.loads((tmp_path / "run.json").read_text())["benchmarks"]
    names = {entry["extra_info"]["gnnbench"]["spec"]["operation"] for entry in saved}
    assert names - {"twice"} == {"adds", "seeded", "layer", "weights"}


def test_what_is_not_timed_is_called_no_further_time(tmp_path):
    (tmp_path / "test_own.py").write_text(KERNELS)
    result = run_kernels(*SMALL, "--benchmark-disable", "-k", "later", cwd=tmp_path)
    assert result.returncode == pytest.ExitCode.OK, result.stdout
