import subprocess
import sys
from pathlib import PurePath

import pytest

from gnnbench.adopt import written_benchmark
from gnnbench.adopt.models import Model


def model(*inputs, returns_one=True, required=()):
    return Model("nets.gat", "GATNet", PurePath("nets/gat.py"), 1, required, inputs, returns_one=returns_one)


def test_a_training_step_only_where_a_call_returns_one_thing():
    assert "def test_gat_net_training_step(" in written_benchmark.write(model("x"))
    assert "training_step" not in written_benchmark.write(model("x", returns_one=False))
    assert written_benchmark.file_name(model("x")) == "test_gat_net.py"


@pytest.mark.parametrize("inputs", [("x",), ("x", "edge_index", "t")], ids=len)
def test_no_name_is_unused_or_unknown_and_what_is_left_is_named(tmp_path, inputs):
    found = model(*inputs, required=["heads"])
    (tmp_path / "test_it.py").write_text(written_benchmark.write(found))
    assert written_benchmark.left(found) == ["heads", *inputs[2:]]
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
