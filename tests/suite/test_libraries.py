"""Modules that are imported when they are first used."""

import sys
from types import FunctionType

import pytest

from gnnbench.suite import libraries


def test_the_module_takes_the_place_of_what_stood_for_it():
    names = {"utils": libraries.utils, "other": 1}
    use = FunctionType((lambda: utils.scatter).__code__, names)  # noqa: F821 - a name in `names`
    assert names["utils"].__name__ == "torch_geometric.utils"
    assert use() is sys.modules["torch_geometric.utils"].scatter
    assert names["utils"] is sys.modules["torch_geometric.utils"]
    assert names["other"] == 1


def test_what_python_asks_of_any_module_imports_nothing():
    assert libraries.torch_sparse.__spec__ is None
    assert not hasattr(libraries.torch_sparse, "__file__")


def test_a_name_that_is_not_there():
    with pytest.raises(ImportError, match="torhc"):
        from gnnbench.suite.libraries import torhc  # noqa: F401
    with pytest.raises(AttributeError, match="scater"):
        libraries.utils.scater  # noqa: B018
