import importlib.metadata
import sys

import pytest

from gnnbench import packages


def test_says_nothing_where_all_are_here():
    assert packages.missing(("torch", "numpy")) is None
    assert packages.version("torch") == importlib.metadata.version("torch")


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("dgl", "pip install 'gnnbench[dgl]'"),
        ("torch_sparse", "pip install --no-build-isolation torch_scatter torch_sparse"),
        ("ogb", "pip install ogb"),
    ],
)
def test_missing_package_is_named_with_its_command(monkeypatch, package, command):
    # What Python itself puts there to say that a package cannot be imported.
    monkeypatch.setitem(sys.modules, package, None)
    assert packages.missing(("torch", package)) == f"{package} is not installed: {command}"


def test_package_that_nobody_has():
    assert not packages.is_installed("gnnbench_no_such_package")
    assert packages.version("gnnbench_no_such_package") is None
    assert packages.missing(["gnnbench_no_such_package"]).endswith("pip install gnnbench_no_such_package")
