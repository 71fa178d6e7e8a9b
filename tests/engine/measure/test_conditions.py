import ctypes
import sys

import pytest
import torch

from gnnbench.engine.measure.conditions import cpu_threads
from gnnbench.engine.measure.fingerprint.libraries import loaded


def test_an_openmp_beside_torchs_is_told_too():
    pytest.importorskip("sklearn.utils._openmp_helpers")
    own = [path for path in loaded(len(sys.modules)) if path.parent.name == "scikit_learn.libs"]
    if not own:
        pytest.skip("scikit-learn's OpenMP is not in its wheel")
    (openmp,) = (ctypes.CDLL(str(path)) for path in own if "gomp" in path.name)
    before = openmp.omp_get_max_threads()
    with cpu_threads(before + 1):
        assert openmp.omp_get_max_threads() == before + 1
    assert openmp.omp_get_max_threads() == before


def test_none_leaves_the_number_and_a_failure_restores_it():
    before = torch.get_num_threads()
    with cpu_threads(None):
        assert torch.get_num_threads() == before
    with pytest.raises(KeyError, match=str(before + 1)), cpu_threads(before + 1):
        raise KeyError(torch.get_num_threads())
    assert torch.get_num_threads() == before
