"""How DGL is imported, in a fresh interpreter each."""

import os
import subprocess
import sys

import pytest

from gnnbench.packages import missing

pytestmark = pytest.mark.skipif(bool(missing(["dgl"])), reason=str(missing(["dgl"])))

SETUP = """
import sys, threading, torch
from gnnbench.workloads.platforms.dgl_import import import_dgl, uses_stand_in
dgl = import_dgl()
"""


@pytest.fixture
def python(tmp_path):
    """Run code with an empty home and return what it prints."""
    home = tmp_path / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DGL", "XDG"))}

    def run(code):
        result = subprocess.run(
            [sys.executable, "-c", code],
            env={**environment, "HOME": str(home), "OMP_NUM_THREADS": "1"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        assert not list(home.rglob("*"))
        return result.stdout + result.stderr

    return run


def test_stand_in_serves_exactly_where_the_plain_import_fails(python):
    plain = (
        "import os; os.environ['DGLBACKEND'] = 'pytorch'\n"
        "try: import dgl\n"
        "except (ImportError, OSError): print('fails')"
    )
    fails = "fails" in python(plain)
    told = python(SETUP + "print(uses_stand_in(), import_dgl() is dgl)").split()
    assert told == [str(fails), "True"]


def test_message_passing_works_and_nothing_is_said_nor_asked_of_the_network(python):
    assert not python(
        SETUP
        + """
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
    )
