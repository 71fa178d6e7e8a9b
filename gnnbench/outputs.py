"""The parts of what a function returns, by their place in it."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
"""Types that are compared by their values."""


class UncomparableError(TypeError):
    """A part of an output has a type that cannot be compared."""


def parts(value: Any) -> dict[str, Any]:
    """Return tensors, NumPy arrays and plain values by place: `""` for the whole, `['paper'][0].mean`.

    Dictionaries, lists, tuples, named tuples and dataclasses are opened, and so are PyG's Data and DGL's
    graphs. A SparseTensor becomes a sparse COO tensor of torch. An empty container is `()`.

    Raises:
        UncomparableError: a part has another type; the message names it and its place.
    """
    return dict(_parts("", value))


def _parts(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    inside = _inside(value)
    if inside is not None:
        for name, one in inside.items():
            yield from _parts(place + name, one)
        if not inside:
            yield place, ()
    elif (
        isinstance(value, _PLAIN)
        or _is(value, "torch", "Tensor")
        or _is(value, "numpy", "ndarray", "generic")
    ):
        yield place, value
    elif _is(value, "torch_sparse", "SparseTensor"):
        yield place, value.to_torch_sparse_coo_tensor()
    else:
        kind = type(value)
        raise UncomparableError(f"output{place} is a {kind.__module__}.{kind.__qualname__}")


def _inside(value: Any) -> dict[str, Any] | None:
    """Return what a container has, by the end of its place; None: it is none."""
    if isinstance(value, Mapping):
        return {f"[{key!r}]": one for key, one in value.items()}
    if isinstance(value, list | tuple):
        return {f"[{number}]": one for number, one in enumerate(value)}
    if is_dataclass(value) and not isinstance(value, type):
        return {f".{one.name}": getattr(value, one.name) for one in fields(value)}
    if _is(value, "torch_geometric.data.data", "BaseData"):
        return {f"[{key!r}]": one for key, one in value.to_dict().items()}
    if _is(value, "dgl", "DGLGraph"):
        kinds = {one: value.edges(etype=one) for one in value.canonical_etypes}
        edges = {f".edges({'-'.join(kind)})": list(ends) for kind, ends in kinds.items()}
        return {**edges, ".ndata": dict(value.ndata), ".edata": dict(value.edata)}
    return None


def _is(value: Any, module: str, *names: str) -> bool:
    """Tell whether a value has one of a module's types, without importing the module."""
    found = sys.modules.get(module)
    types = tuple(one for one in (getattr(found, name, None) for name in names) if isinstance(one, type))
    return isinstance(value, types)
