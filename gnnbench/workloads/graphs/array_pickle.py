"""A safe replacement for the module pickle: it reads arrays and CSR matrices in plain containers only.

A pickle names functions that are called when it is read, so an untrusted file could run any code. The data
set libraries read their files with pickle; they get this module instead.
"""

import pickle
from typing import IO, Any

from numpy.typing import NDArray
from scipy.sparse import csr_matrix

# The names in the pickle of an array, under NumPy 1 and 2.
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
            ValueError: an index is out of range; SciPy alone would write outside the array.
        """
        matrix = csr_matrix((self.data, self.indices, self.indptr), shape=self._shape)
        matrix.check_format(full_check=True)
        entries: NDArray[Any] = matrix.toarray()
        return entries


class Unpickler(pickle.Unpickler):
    """Loads only the classes that arrays and plain containers need."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the class or function that a pickle names.

        Raises:
            UnpicklingError: it is not part of an array.
        """
        if (module, name) == ("_codecs", "encode") or (module, name) in _CONTAINERS:
            return super().find_class(module, name)
        if module in _NUMPY_MODULES and name in _ARRAY_PARTS:
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        if module in _MATRIX_MODULES and name == "csr_matrix":
            return Matrix
        raise pickle.UnpicklingError(f"'{module}.{name}' is not part of an array")


def load(file: IO[bytes], *, encoding: str = "ASCII") -> Any:
    """Read one object from a binary file, as `pickle.load` does; `encoding` is for strings from Python 2.

    Raises:
        UnpicklingError: it contains anything but arrays in plain containers.
    """
    return Unpickler(file, encoding=encoding).load()
