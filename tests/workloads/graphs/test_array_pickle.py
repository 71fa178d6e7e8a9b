import io
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from gnnbench.workloads.graphs import array_pickle

# As Python 2 and an old SciPy wrote a matrix: protocol 2, and a module that is gone.
_OLD = pickle.dumps(csr_matrix([[0, 2], [3, 0]]), protocol=2).replace(
    b"scipy.sparse._csr", b"scipy.sparse.csr"
)


def test_an_old_matrix_is_read():
    found = array_pickle.load(io.BytesIO(_OLD), encoding="latin1")
    assert found.todense().tolist() == [[0, 2], [3, 0]]


def test_a_matrix_with_an_index_outside_of_it_is_refused():
    matrix = csr_matrix(np.eye(3))
    matrix.indices[2] = 10**6
    found = array_pickle.load(io.BytesIO(pickle.dumps(matrix)))
    with pytest.raises(ValueError, match="must be < 3"):
        found.todense()


@pytest.mark.parametrize("value", [print, np.load, csr_matrix.toarray, csr_matrix((2, 2)).tocoo()])
def test_all_else_is_refused(value):
    with pytest.raises(pickle.UnpicklingError, match="is not part of an array"):
        array_pickle.load(io.BytesIO(pickle.dumps(value)))
