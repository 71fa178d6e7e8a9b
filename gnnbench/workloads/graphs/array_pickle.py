"""In place of the module pickle: reads arrays and CSR matrices in plain containers, and refuses all else.

A pickle names the functions that are called when it is read, so a file from elsewhere could run any code. The
libraries of the data sets read theirs with pickle and ask nothing; they are given this module instead.
"""

import pickle
from typing import IO, Any

from numpy.typing import NDArray
from scipy.sparse import csr_matrix

# What the pickle of an array names, under NumPy 1 and 2.
_NUMPY_MODULES = ("numpy", "numpy.core.multiarray", "numpy._core.multiarray")
_ARRAY_PARTS = ("ndarray", "dtype", "_reconstruct", "scalar")
# Under Python 2 and 3.
_CONTAINERS = (("collections", "defaultdict"), ("__builtin__", "list"), ("builtins", "list"))
# Under SciPy before and after 1.8.
_MATRIX_MODULES = ("scipy.sparse.csr", "scipy.sparse._csr")


class Matrix:
    """The fields of a pickled SciPy matrix in CSR form."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    _shape: tuple[int, int]

    def todense(self) -> NDArray[Any]:
        """Return all entries: [rows, columns].

        Raises:
            ValueError: an index outside of the matrix, which SciPy by itself would write to.
        """
        matrix = csr_matrix((self.data, self.indices, self.indptr), shape=self._shape)
        matrix.check_format(full_check=True)
        entries: NDArray[Any] = matrix.toarray()
        return entries


class Unpickler(pickle.Unpickler):
    """Reads what is harmless."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what a pickle names.

        Raises:
            UnpicklingError: it is no part of an array.
        """
        if (module, name) == ("_codecs", "encode") or (module, name) in _CONTAINERS:
            return super().find_class(module, name)
        if module in _NUMPY_MODULES and name in _ARRAY_PARTS:
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        if module in _MATRIX_MODULES and name == "csr_matrix":
            return Matrix
        raise pickle.UnpicklingError(f"'{module}.{name}' is no part of an array")


def load(file: IO[bytes], *, encoding: str = "ASCII") -> Any:
    """Read one object, as `pickle.load` does.

    Args:
        file: it.
        encoding: of the strings that Python 2 wrote.

    Raises:
        UnpicklingError: it is not made of arrays.
    """
    return Unpickler(file, encoding=encoding).load()
