from functools import partial

import pytest
import torch

from gnnbench.measure import compilation
from gnnbench.workloads import interpreter, platforms
from gnnbench.workloads.operations import OPERATIONS
from gnnbench.workloads.verify import MismatchError, verify
from tests.workloads.test_operations import workload_of


def verified(case):
    """Verify as the suite does, and return the kernel's own output."""
    module = platforms.load(case.spec.platform)
    run, inputs, result = workload_of(case, module)
    verify(case, module, run, inputs, OPERATIONS[case.spec.operation].reference, result=result)
    return run(*inputs)


def test_another_file_than_this_process_imported_is_found(make_case, monkeypatch):
    monkeypatch.setattr(interpreter, "run", lambda *_, **__: "/elsewhere/torch/__init__.py\n")
    with pytest.raises(MismatchError, match="cold_import"):
        verified(make_case("cold_import", "torch"))


def test_the_first_call_gets_weights_and_features_and_returns_the_output(make_case, monkeypatch):
    real, codes = interpreter.run, []
    monkeypatch.setattr(
        interpreter, "run", lambda code, *words, **kw: codes.append(code) or real(code, *words, **kw)
    )
    verified(make_case("cold_layer", "pyg"))
    compile(codes[0], "code", "exec")

    def without_bias(code, *words, **options):
        return real(code.replace('layer.bias.copy_(given["bias"])', "pass"), *words, **options)

    monkeypatch.setattr(interpreter, "run", without_bias)
    with pytest.raises(MismatchError, match=r"cold_layer.*output is wrong"):
        verified(make_case("cold_layer", "pyg"))


@pytest.fixture
def _eager(monkeypatch):
    """Compile without the back end, which takes long and does not matter for graphs and breaks."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    yield
    torch.compiler.reset()


@pytest.mark.usefixtures("_eager")
def test_each_call_compiles_anew_and_what_it_makes_is_counted(make_case):
    run, inputs, _ = workload_of(make_case("cold_compile", "pyg"), platforms.load("pyg"))
    found = []
    for _ in range(2):
        compilation.clear()
        run(*inputs)
        found.append(compilation.counts())
    assert found[0] == found[1]
    assert found[0]["graphs"] > 0
    assert found[0]["recompilations"] == 0


@pytest.mark.parametrize("platform", ["pyg", "sparse", "dgl"])
def test_a_new_layer_is_made_in_each_call(make_case, platform, monkeypatch):
    module = platforms.load(platform)
    made, layer = [], module.layer
    monkeypatch.setattr(module, "layer", lambda *words, **kw: made.append(layer(*words, **kw)) or made[-1])
    verified(make_case("conv_new_layer", platform))
    assert len({id(one) for one in made}) == 2
