"""The parts of what a function returns, by their place in it."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
"""Types that are compared by their values."""
_FEW = 16
"""So many plain values of a list are parts of their own."""


class UncomparableError(TypeError):
    """A part of an output has a type that cannot be compared."""


def parts(value: Any, left: dict[str, str] | None = None) -> dict[str, Any]:
    """Return tensors, arrays and plain values by place: `""` for the whole, `['paper'][0].mean`.

    Dictionaries, lists, tuples, named tuples, sets and dataclasses are opened, and so are PyG's Data, DGL's
    and NetworkX's graphs, DataFrames of pandas and Polars, and SciPy's sparse matrices. A SparseTensor
    becomes a sparse COO tensor of torch. An `array.array` and what has NumPy's `__array__` become arrays of
    NumPy. A list or tuple of many floats, whole numbers, or other plain values is one part, a tuple; an empty
    container is `()`.

    Args:
        value: what the function returned.
        left: receives the types of parts that cannot be compared, by place; None: they are an error.

    Raises:
        UncomparableError: a part has another type; the message names it and its place.
    """
    return dict(_parts("", value, left))


def _parts(place: str, value: Any, left: dict[str, str] | None) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list | tuple) and len(value) > _FEW:
        types = {type(one) for one in value}
        if types <= {*_PLAIN} - {float} or any(
            all(issubclass(one, kind) for one in types) for kind in (float, Integral)
        ):
            yield place, tuple(value)
            return
    found = inside(value)
    if found is not None:
        for name, one in found.items():
            yield from _parts(place + name, one, left)
        if not found:
            yield place, ()
    elif (
        isinstance(value, _PLAIN)
        or _is(value, "torch", "Tensor")
        or _is(value, "numpy", "ndarray", "generic")
    ):
        yield place, value
    elif _is(value, "torch_sparse", "SparseTensor"):
        yield place, value.to_torch_sparse_coo_tensor()
    elif "numpy" in sys.modules and (hasattr(type(value), "__array__") or _is(value, "array", "array")):
        yield place, sys.modules["numpy"].asarray(value)
    else:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        if left is None:
            raise UncomparableError(f"output{place} is a {kind}")
        left[place] = kind


def inside(value: Any) -> dict[str, Any] | None:
    """Return what a container has, by the end of its place; None: it is none."""
    if isinstance(value, Mapping):
        return {f"[{key!r}]": one for key, one in value.items()}
    if isinstance(value, list | tuple):
        return {f"[{number}]": one for number, one in enumerate(value)}
    if isinstance(value, set | frozenset) and all(isinstance(one, _PLAIN) for one in value):
        return {f"{{{number}}}": one for number, one in enumerate(sorted(value, key=repr))}
    if is_dataclass(value) and not isinstance(value, type):
        return {f".{one.name}": getattr(value, one.name) for one in fields(value)}
    if _is(value, "numpy.ma", "MaskedArray"):
        return {".mask": value.mask, ".data": value.filled(value.dtype.type())}
    return _graph(value) or _table(value)


def _graph(value: Any) -> dict[str, Any] | None:
    """Return what a graph or a sparse matrix has; None: it is neither."""
    if _is(value, "torch_geometric.data.data", "BaseData"):
        return {f"[{key!r}]": one for key, one in value.to_dict().items()}
    if _is(value, "dgl", "DGLGraph"):
        kinds = {one: value.edges(etype=one) for one in value.canonical_etypes}
        edges = {f".edges({'-'.join(kind)})": list(ends) for kind, ends in kinds.items()}
        return {**edges, ".ndata": dict(value.ndata), ".edata": dict(value.edata)}
    if _is(value, "networkx", "Graph"):
        return {".nodes": dict(value.nodes(data=True)), ".edges": list(value.edges(data=True))}
    if _is(value, "scipy.sparse", "sparray", "spmatrix"):
        rows = value.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()  # it sorts, too
        found = rows.tocoo(copy=False)
        ends = {".row": found.row.astype("int64"), ".col": found.col.astype("int64")}
        return {".shape": found.shape, **ends, ".data": found.data}
    return None


def _table(value: Any) -> dict[str, Any] | None:
    """Return the columns of a DataFrame or a Series; None: it is neither."""
    if _is(value, "pandas", "DataFrame"):
        columns = {f"[{name!r}]": value[name].to_numpy() for name in value.columns}
        return {**columns, ".index": value.index.to_numpy()}
    if _is(value, "pandas", "Series"):
        return {"": value.to_numpy(), ".index": value.index.to_numpy()}
    if _is(value, "polars", "DataFrame"):
        return {f"[{one.name!r}]": one.to_numpy() for one in value.get_columns()}
    return None


def _is(value: Any, module: str, *names: str) -> bool:
    """Tell whether a value has one of a module's types, without importing the module."""
    found = sys.modules.get(module)
    types = tuple(one for one in (getattr(found, name, None) for name in names) if isinstance(one, type))
    return isinstance(value, types)
