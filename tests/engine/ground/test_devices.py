import sys

import pytest
import torch

from gnnbench.engine.ground import devices
from gnnbench.engine.ground.errors import UsageError
from tests import nvml


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_hidden_gpus_are_not_there(monkeypatch, hidden):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert devices.why_no_cuda() == "CUDA_VISIBLE_DEVICES hides every GPU"
    assert devices.resolve("auto") == devices.resolve("cpu") == "cpu"
    refused = "^device 'cuda' cannot be used, because CUDA_VISIBLE_DEVICES .*; use cpu$"
    with pytest.raises(UsageError, match=refused):
        devices.resolve("cuda")


def test_agrees_with_torch(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert (devices.why_no_cuda() is None) == torch.cuda.is_available()
    assert devices.resolve("auto") == ("cuda" if torch.cuda.is_available() else "cpu")
    assert devices.torch_cuda_version() == torch.version.cuda


def test_reads_how_torch_is_built_without_importing_it(monkeypatch, tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch")
    for text, built_for in (
        ("cuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n", "12.8"),
        ("cuda = '11.8'\n", "11.8"),
        ("cuda: Optional[str] = None\nhip: Optional[str] = '6.2'\n", None),
    ):
        (tmp_path / "torch/version.py").write_text(text)
        assert devices.torch_cuda_version() == built_for


@pytest.mark.parametrize("name", ["cdua", "cuda:1", "gpu"])
def test_what_is_no_device_is_refused(monkeypatch, name):
    nvml.install(monkeypatch)
    nearest = "" if name == "gpu" else r"did you mean cuda\?$"
    with pytest.raises(UsageError, match=f"^unknown device '{name}': {nearest}"):
        devices.resolve(name)


FIRST, SECOND, SLICE = nvml.UUIDS
SEEN = {None: FIRST, "1": SECOND, "1,0": SECOND, " 0 ": FIRST, SLICE: SLICE, f"{SECOND},{FIRST}": SECOND}
SEEN |= dict.fromkeys(("2", "GPU-cc", "MIG-none", "NoDevFiles"))


@pytest.mark.parametrize(("visible", "seen"), SEEN.items())
def test_the_gpu_is_the_first_that_cuda_sees(monkeypatch, visible, seen):
    nvml.install(monkeypatch)
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert devices.resolve("auto") == ("cuda" if seen else "cpu")
    with devices.gpu() as ask:
        assert (ask and ask("UUID")) == seen
