"""The table that people read and pytest collects from, and the modules that hold the code, agree."""

import os
import subprocess
import sys

import pytest
import torch

from gnnbench.suite import platforms
from gnnbench.suite.platforms import PLATFORMS
from tests.graphs import needs_dgl

EACH_PLATFORM = pytest.mark.parametrize("platform", PLATFORMS)


@EACH_PLATFORM
def test_layer_takes_the_given_weights_and_keeps_none_of_them(platform):
    module = platforms.load(platform)
    weight, bias = torch.rand(5, 3, dtype=torch.float64), torch.rand(3, dtype=torch.float64)
    layer = module.layer(weight, bias)
    (matrix,) = [parameter for parameter in layer.parameters() if parameter.dim() == 2]
    (vector,) = [parameter for parameter in layer.parameters() if parameter.dim() == 1]
    assert torch.equal(matrix if matrix.shape == weight.shape else matrix.t(), weight)
    assert torch.equal(vector, bias)
    weight.zero_()
    assert matrix.any()


@EACH_PLATFORM
def test_a_library_that_is_built_for_the_cpu_is_not_for_cuda(platform):
    assert platforms.why_not_on(platform, "cpu") is None
    reason = platforms.why_not_on(platform, "cuda")
    if platform in ("pyg", "compiled", "torch"):
        assert reason is None
    elif torch.version.cuda is None:
        assert "built without CUDA" in reason


IMPORT_DGL = """
import os, sys, threading, torch
if not (child := os.fork()):  # as what fails leaves modules behind
    os.environ["DGLBACKEND"] = "pytorch"
    sys.stdout = sys.stderr = None
    try:
        import dgl
    except (ImportError, OSError):
        os._exit(7)
    os._exit(0)
_, status = os.wait()
fails = os.waitstatus_to_exitcode(status) == 7

from gnnbench.suite.libraries import import_dgl, uses_stand_in
dgl = import_dgl()
assert (uses_stand_in(), import_dgl()) == (fails, dgl)
assert threading.enumerate() == [threading.main_thread()]
assert "outdated" not in sys.modules
assert "ogb" in sys.modules or not uses_stand_in()
graph = dgl.graph(([0, 1, 1], [1, 2, 0]), num_nodes=4)
graph.ndata["x"] = torch.arange(8.0).view(4, 2)
graph.update_all(dgl.function.copy_u("x", "m"), dgl.function.sum("m", "out"))
assert graph.ndata["out"].tolist() == [[2, 3], [0, 1], [2, 3], [0, 0]]
"""


@pytest.mark.nightly
@needs_dgl
def test_dgl_s_stand_in_serves_exactly_where_the_plain_import_fails(tmp_path):
    """Nothing is said, the network is not asked, and the user's home is not written to."""
    home = tmp_path / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DGL", "XDG"))}
    environment |= {"HOME": str(home), "OMP_NUM_THREADS": "1"}
    command, pipes = [sys.executable, "-c", IMPORT_DGL], {"capture_output": True, "text": True}
    result = subprocess.run(command, env=environment, cwd=tmp_path, check=False, **pipes)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert not list(home.rglob("*"))
