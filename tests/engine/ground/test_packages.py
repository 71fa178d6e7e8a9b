import sys
from importlib import import_module

import pytest

from gnnbench.engine.ground import packages


@pytest.mark.parametrize(
    ("package", "device", "command"),
    [
        ("ogb", "cpu", "pip install 'gnnbench[pyg]'"),
        ("dgl", "cuda", "its builds for CUDA are at https://www.dgl.ai/pages/start.html"),
        ("torch_sparse", "cuda", "pip install --no-build-isolation torch_scatter torch_sparse"),
    ],
)
def test_missing_package_is_named_with_its_command(monkeypatch, package, device, command):
    # What Python itself puts there to say that a package cannot be imported.
    monkeypatch.setitem(sys.modules, package, None)
    assert packages.missing(("torch", package), device) == f"{package} is not installed: {command}"


def test_a_folder_of_its_name_is_no_package(monkeypatch, tmp_path):
    (tmp_path / "gnnbench_new").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert packages.missing(("gnnbench_new",)) == "gnnbench_new is not installed: pip install gnnbench_new"


def test_package_that_nobody_has():
    assert not packages.is_installed("gnnbench_no_such_package")
    assert packages.version("gnnbench_no_such_package") is None
    assert packages.missing(("torch",)) is None
    assert packages.missing_one_of(()) is packages.missing_one_of(("gnnbench_none", "torch")) is None
    named = "none of gnnbench_one, gnnbench_two is installed: pip install gnnbench_two"
    assert packages.missing_one_of(("gnnbench_one", "gnnbench_two")) == named


def test_hidden_packages_are_missing_until_they_are_not(monkeypatch, tmp_path):
    (tmp_path / "gnnbench_new.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    loaded = sys.modules["json"]
    with packages.hidden("gnnbench_new", "json"):
        for name in ("gnnbench_new", "json"):
            with pytest.raises(ModuleNotFoundError):
                import_module(name)
    assert sys.modules["json"] is loaded
    assert "gnnbench_new" not in sys.modules
    assert packages.is_installed("gnnbench_new")
