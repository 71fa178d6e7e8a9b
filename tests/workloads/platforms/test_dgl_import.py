"""How DGL is imported, in a fresh interpreter."""

import os
import subprocess
import sys

import pytest

from gnnbench.packages import missing

pytestmark = pytest.mark.skipif(bool(missing(["dgl"])), reason=str(missing(["dgl"])))

CODE = """
import os, sys, threading, torch
if not (child := os.fork()):
    os.environ["DGLBACKEND"] = "pytorch"
    sys.stdout = sys.stderr = None
    try:
        import dgl
    except (ImportError, OSError):
        os._exit(7)
    os._exit(0)
_, status = os.wait()
fails = os.waitstatus_to_exitcode(status) == 7

from gnnbench.workloads.platforms.dgl_import import import_dgl, uses_stand_in
dgl = import_dgl()
assert (uses_stand_in(), import_dgl()) == (fails, dgl)
assert threading.enumerate() == [threading.main_thread()]
assert "outdated" not in sys.modules
assert "ogb" in sys.modules or not uses_stand_in()
graph = dgl.graph(([0, 1, 1], [1, 2, 0]), num_nodes=4)
x = torch.arange(8.0).view(4, 2).requires_grad_()
graph.ndata["x"] = x
graph.update_all(dgl.function.copy_u("x", "m"), dgl.function.sum("m", "out"))
assert graph.ndata["out"].tolist() == [[2, 3], [0, 1], [2, 3], [0, 0]]
graph.ndata["out"].sum().backward()
assert x.grad.tolist() == [[1, 1], [2, 2], [0, 0], [0, 0]]
layer = dgl.nn.GraphConv(2, 3)
layer(dgl.add_self_loop(graph), x).sum().backward()
assert layer.weight.grad.shape == (2, 3)
"""
"""The plain import is tried in a fork, as what fails leaves modules behind."""


@pytest.mark.nightly
def test_stand_in_serves_exactly_where_the_plain_import_fails_and_nothing_is_said_nor_asked(tmp_path):
    """Messages pass, and neither is the network asked nor the user's home written to."""
    home = tmp_path / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DGL", "XDG"))}
    result = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**environment, "HOME": str(home), "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert not list(home.rglob("*"))
    assert not result.stdout + result.stderr
