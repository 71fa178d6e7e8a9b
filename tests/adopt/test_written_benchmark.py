import subprocess
import sys
from pathlib import PurePath

import pytest

from gnnbench.adopt import written_benchmark
from gnnbench.adopt.models import INPUTS, SIZES, Model


def model(*inputs, returns_one=True, **arguments):
    return Model("nets.gat", "GATNet", PurePath("nets/gat.py"), 1, arguments, inputs, returns_one=returns_one)


def test_a_training_step_only_where_a_call_returns_one_thing():
    assert "def test_gat_net_training_step(" in written_benchmark.write(model("x"))
    assert "training_step" not in written_benchmark.write(model("x", returns_one=False))
    assert written_benchmark.file_name(model("x")) == "test_gat_net.py"


@pytest.mark.parametrize("inputs", [("x",), ("x", "edge_index"), tuple(INPUTS)], ids=len)
def test_no_name_is_unused_or_unknown(tmp_path, inputs):
    arguments = {f"a{number}": size for number, size in enumerate([*SIZES, "0.5"])}
    (tmp_path / "test_it.py").write_text(written_benchmark.write(model(*inputs, **arguments)))
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F", "test_it.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_each_input_can_be_made():
    """What can be written of PyG and torch is real; DGL's graph needs its import."""
    import torch

    sizes = {name: int(value) for name, value in written_benchmark._SIZES.items()}
    from torch_geometric.data import Data

    for name, text in written_benchmark._INPUTS.items():
        if name != "graph":
            random = torch.Generator().manual_seed(0)
            made = eval(text, {**sizes, "torch": torch, "Data": Data, "random": random})
            assert made.to("cpu") is not None
    assert set(written_benchmark._INPUTS) == set(INPUTS)
    assert set(written_benchmark._SIZES) - {"EDGES"} == set(SIZES)
