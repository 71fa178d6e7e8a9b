"""Two processes train as one; they are connected as torchrun does it, which tests of it start at night."""

import json
import os
import subprocess
import sys
from datetime import timedelta

import pytest
from torch.distributed import TCPStore

from gnnbench.workloads import distributed
from gnnbench.workloads.operations import OPERATIONS, epoch_ddp
from tests.suite import ROOT


def test_this_process_and_another_train_as_one_until_there_are_no_more_commands(
    make_case, tmp_path, monkeypatch, capsys
):
    """The other one is the first, which reads commands."""
    case, path = make_case("epoch_ddp", "torch", "train"), str(tmp_path / "case.pt")
    distributed.write(case, tmp_path / "case.pt")
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    for name, value in {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
        "WORLD_SIZE": "2",
        "RANK": "1",
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["", path])
    monkeypatch.setattr(distributed, "_LONGEST_PAUSE", timedelta(minutes=1))
    words = [sys.executable, "-c", f"from {distributed.__name__} import main; main()", path]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environment = {**os.environ, "RANK": "0"}
    with subprocess.Popen(words, cwd=ROOT, text=True, env=environment, **pipes) as other:
        other.stdin.write("epoch\nevaluate\n" + 20 * "epoch\n" + "evaluate\n")
        other.stdin.close()
        distributed.main()
        first, after, *others, last = map(json.loads, other.stdout)
    assert other.returncode == 0
    inputs = [one.double() for one in epoch_ddp.inputs(case)]
    expected = OPERATIONS["epoch_ddp"].reference(case.graph, *inputs).tolist()
    assert [first["loss"], after["loss"]] == pytest.approx(expected, rel=1e-5)
    assert len(others) == 20
    assert last["loss"] < after["loss"]
    assert after["difference"] == last["difference"] == 0
    assert capsys.readouterr().out == "", "only the first one answers"
