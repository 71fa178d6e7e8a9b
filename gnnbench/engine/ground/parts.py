"""Defines the parts of a value by its type, for all code that walks through objects.

Such code copies inputs, searches objects for tensors, compares outputs, and finds what a function reads.
Types are identified by name, so that gnnbench imports no package that the measured code does not import.
Parts are read from where they are stored: no function of the code under test runs.
"""

import re
import sys
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import partial
from types import MappingProxyType, MemberDescriptorType, MethodType
from typing import Any, NamedTuple

Parts = Iterable[tuple[str, Any]]
"""The parts of a value, each with the expression to reach it: `[0]`, `['x']`, `.weight`."""

_IN_BRACKETS = re.compile(r"\[[^]]*]")
_FEW = 60
"""Most characters that are shown of a dictionary's key; a hash distinguishes longer keys."""


class Kind(NamedTuple):
    """How to read the parts of a type's values, and how to rebuild a value from other parts."""

    parts: Callable[[Any], Parts]
    """Everything that may be, or contain, a tensor or an array."""
    rebuild: Callable[[Any, list[Any]], Any] | None = None
    """Makes a value of the type from new parts, in the order of `parts`. None if only deepcopy can."""
    content: Callable[[Any], Parts] | None = None
    """The parts to compare, if not `parts`. They are equal for equal values, however these are stored."""
    subclasses: bool = True
    """Whether subclasses are treated like the type."""
    is_free: bool = False
    """Whether the parts are independent of each other, so that a single one may be replaced."""


def kind_of(value: Any) -> Kind | None:
    """Return how to read the parts of a value. Returns None if its type is unknown."""
    for base in type(value).__mro__[:-1]:
        kind = _KINDS.get(f"{base.__module__}.{base.__qualname__}")
        if kind is not None:
            return kind if kind.subclasses or base is type(value) else None
    return None


def kind_or_container(value: Any) -> Kind | None:
    """Return how to read a value's parts, as `kind_of` does, but also for subclasses of containers."""
    kinds = (kind for base, kind in _CONTAINERS.items() if issubclass(type(value), base))
    return kind_of(value) or next(kinds, None)


def content_of(value: Any, tested: Collection[str] = ()) -> Parts | None:
    """Return the parts to compare of a container, graph or table. Returns None for other values."""
    kind = kind_or_container(value) or _library_kind(value, tested)
    if kind is None or kind is LEAF or kind is TENSOR:
        return None
    return (kind.content or kind.parts)(value)


def _library_kind(value: Any, tested: Collection[str]) -> Kind | None:
    """Return how to read the parts of a library's value. Returns None if the library is under test."""
    for (module, name), kind in _LIBRARIES.items():
        type_, is_tested = getattr(sys.modules.get(module), name, None), module.partition(".")[0] in tested
        if isinstance(type_, type) and issubclass(type(value), type_) and not is_tested:
            return kind
    return None


def attributes_of(value: Any) -> Parts | None:
    """Return an object's attributes and slots. Returns None for a class, and if its type is written in C."""
    bases = type(value).__mro__[:-1]
    in_python = all(base.__flags__ & _HEAP_OR_FIXED == _HEAP for base in bases)
    if not bases or not in_python or issubclass(type(value), type):
        return None
    attributes = dict[str, Any]()
    with suppress(AttributeError):  # it has slots only
        attributes |= object.__getattribute__(value, "__dict__")
    for slot in (item for base in bases for item in vars(base).values()):
        if isinstance(slot, MemberDescriptorType):
            with suppress(AttributeError):  # it is empty
                attributes[slot.__name__] = slot.__get__(value)
    is_value = type(value).__module__ in _WITH_TEXTS
    return ((f".{name.strip('_') if is_value else name}", item) for name, item in attributes.items())


def is_private(place: str) -> bool:
    """Tell whether a place is, or is in, a private attribute of an object. Keys are in brackets."""
    return "._" in _IN_BRACKETS.sub("", place)


def is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return bool(torch) and issubclass(type(value), torch.Tensor)  # type: ignore[union-attr]


def strided_parts(value: Any) -> tuple[Any, ...]:
    """Return the strided parts of a nested or sparse tensor, in the order of its constructor's arguments."""
    torch = sys.modules["torch"]
    if value.is_nested:
        strided = value.layout == torch.strided
        sizes = value._nested_tensor_size() if strided else value.offsets()  # noqa: SLF001
        return value.values(), sizes
    if value.layout not in sparse_layouts():
        return ()
    if value.layout == torch.sparse_coo:
        return value._indices(), value._values()  # noqa: SLF001 - the public ones need a coalesced tensor
    if value.layout in (torch.sparse_csr, torch.sparse_bsr):
        return value.crow_indices(), value.col_indices(), value.values()
    return value.ccol_indices(), value.row_indices(), value.values()


def sparse_layouts() -> tuple[Any, ...]:
    torch = sys.modules["torch"]
    return torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc


def captured(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each variable that a function captures."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue


def _items(value: Any, *, keys: bool = False) -> Parts:
    """Return the items of a dictionary. With `keys`, also return the keys that are objects."""
    items = dict.items(value) if issubclass(type(value), dict) else value.items()
    for number, (key, item) in enumerate(items):
        text = (key_text := _key_text(key)) or f"{type(key).__qualname__} {number}"
        name = text if len(text) <= _FEW else f"{text[:_FEW]}... {zlib.crc32(text.encode()):08x}"
        yield f"[{name}]", item
        if keys and not key_text:
            yield f"[{name}].key", key


def _key_text(key: Any) -> str:
    """Return a dictionary's key as a text that is the same in each process. Returns "" for an object."""
    if issubclass(type(key), tuple | frozenset):
        texts = list(map(_key_text, key))
        text = f"({', '.join(texts)})" if issubclass(type(key), tuple) else f"{{{', '.join(sorted(texts))}}}"
        return text if all(texts) else ""
    if issubclass(type(key), Enum) and key._name_:
        return f"{type(key).__qualname__}.{key._name_}"
    key = key.item() if type(key).__module__ == "numpy" and hasattr(key, "item") else key
    return repr(key) if type(key) in _PLAIN_KEYS or type(key).__module__ in _WITH_TEXTS else ""


def _elements(value: Any) -> Parts:
    kind = next(base for base in (list, tuple, deque) if issubclass(type(value), base))
    return ((f"[{number}]", item) for number, item in enumerate(kind.__iter__(value)))


def _members(value: Any) -> Parts:
    """Return a set's members in an order that does not depend on the process, except for objects."""
    kind = next(base for base in (set, frozenset) if issubclass(type(value), base))
    members = sorted(kind.__iter__(value), key=_key_text)
    return ((f"{{{number}}}", item) for number, item in enumerate(members))


def _stored(*names: str) -> Callable[[Any], Parts]:
    """Return a function that returns the values of these attributes of an object."""
    return lambda value: (("", vars(value)[name]) for name in names if name in vars(value))


def _attributes(value: Any) -> Parts:
    return ((f".{name}", item) for name, item in vars(value).items())


def _module(value: Any) -> Parts:
    for name in ("_parameters", "_buffers", "_modules"):
        for key, item in vars(value)[name].items():
            if item is not None:
                yield f"[{key!r}]" if key.startswith("_") else f".{key}", item


def _optimizer(value: Any) -> Parts:
    yield ".param_groups", [group["params"] for group in value.param_groups]
    yield ".state", [list(state.values()) for state in value.state.values()]


def _storage(store: Any) -> Parts:
    yield from _items(vars(store)["_mapping"])
    if "_slice_dict" in vars(store):  # it separates a batch into its graphs
        yield ".slices", vars(store)["_slice_dict"]


def _sparse_tensor(value: Any) -> Parts:
    """Return a SparseTensor as a COO tensor: the indices that it caches depend on earlier calls."""
    storage, torch = vars(vars(value)["storage"]), sys.modules["torch"]
    row, values = storage["_row"], storage["_value"]
    if row is None:
        degrees = storage["_rowptr"].diff()
        row = torch.arange(len(degrees), device=degrees.device).repeat_interleave(degrees)
    if values is None:
        values = torch.ones(len(row), device=row.device)
    size = (*storage["_sparse_sizes"], *values.shape[1:])
    yield "", torch.sparse_coo_tensor(torch.stack((row, storage["_col"])), values, size)


def _scipy(value: Any) -> Parts:
    """Return the entries of a sparse matrix, sorted and without duplicates, and its shape."""
    rows = value.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()  # it sorts, too
    entries = rows.tocoo(copy=False)
    yield from ((".row", entries.row.astype("int64")), (".col", entries.col.astype("int64")))
    yield from ((".data", entries.data), (".shape", entries.shape))


def _frame(value: Any) -> Parts:
    for number, name in enumerate(value.columns):
        yield f"[{name if value.columns.is_unique else number!r}]", value.iloc[:, number].to_numpy()
    yield from ((".columns", tuple(map(repr, value.columns))), (".index", value.index.to_numpy()))


def _dgl(graph: Any) -> Parts:
    for relation in graph.canonical_etypes:
        formats = graph[relation].formats()["created"]
        yield from (("", graph.adj_tensors(form, etype=relation)) for form in formats)
    yield "", dgl_features(graph)


def dgl_features(graph: Any) -> list[Any]:
    frames = (*graph._node_frames, *graph._edge_frames)  # noqa: SLF001 - its features by relation
    return [frame[name] for frame in frames for name in frame]


def _dgl_content(graph: Any) -> Parts:
    yield ".batch_num_nodes", {kind: graph.batch_num_nodes(kind) for kind in graph.ntypes}
    for relation in graph.canonical_etypes:
        yield f".edges({'-'.join(relation)})", list(graph.edges(etype=relation))
    yield from ((".ndata", dict(graph.ndata)), (".edata", dict(graph.edata)))


_HEAP = 1 << 9
_HEAP_OR_FIXED = _HEAP | 1 << 8
"""Type flags: a class written in Python is on the heap and not immutable, so only the first bit is set."""
_PLAIN_KEYS = frozenset({bool, int, float, complex, str, bytes, type(None)})
_WITH_TEXTS = ("datetime", "decimal", "fractions", "ipaddress", "statistics", "uuid")
"""Modules with types whose `repr` is their whole value."""

LEAF = Kind(lambda _: ())
TENSOR = Kind(lambda value: (("", part) for part in strided_parts(value)), subclasses=False)
FUNCTION = Kind(captured, lambda value, _: value, is_free=True)
OPTIMIZER = Kind(_optimizer)
DGL = Kind(_dgl, content=_dgl_content)
_WHOLE = Kind(_attributes)

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(
        (
            *("builtins.NoneType", "builtins.int", "builtins.float", "builtins.complex", "builtins.str"),
            *("builtins.bytes", "builtins.range", "builtins.slice", "builtins.type", "builtins.module"),
            *("builtins.builtin_function_or_method", "enum.Enum", "torch.dtype", "torch.device"),
            *("torch._ops.OpOverload", "torch._ops.OpOverloadPacket", "torch._C.Generator"),
        ),
        LEAF,
    ),
    "builtins.function": FUNCTION,
    "builtins.method": Kind(
        lambda method: (("", method.__self__), ("", method.__func__)),
        lambda method, parts: MethodType(method.__func__, parts[0]),
        is_free=True,
    ),
    "functools.partial": Kind(
        lambda call: (("", call.func), ("", call.args), ("", call.keywords)),
        lambda _, parts: partial(parts[0], *parts[1], **parts[2]),
        is_free=True,
    ),
    "builtins.list": Kind(_elements, lambda _, parts: parts, subclasses=False, is_free=True),
    "builtins.tuple": Kind(
        _elements,
        lambda value, parts: type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts),
        is_free=True,
    ),
    "builtins.dict": Kind(
        _items,
        lambda value, parts: dict(zip(value, parts, strict=True)),
        partial(_items, keys=True),
        subclasses=False,
        is_free=True,
    ),
    "torch.Tensor": TENSOR,
    "torch.nn.parameter.Parameter": TENSOR,
    "torch.nested._internal.nested_tensor.NestedTensor": TENSOR,
    "torch.nn.modules.module.Module": Kind(_module, is_free=True),
    "torch.optim.optimizer.Optimizer": OPTIMIZER,
    "torch_geometric.edge_index.EdgeIndex": _WHOLE,
    "torch_geometric.data.data.Data": Kind(_stored("_store"), is_free=True),
    "torch_geometric.data.hetero_data.HeteroData": Kind(
        _stored("_global_store", "_node_store_dict", "_edge_store_dict"), is_free=True
    ),
    "torch_geometric.data.storage.BaseStorage": Kind(
        lambda store: _items(vars(store)["_mapping"]), content=_storage, is_free=True
    ),
    "torch_geometric.sampler.neighbor_sampler.NeighborSampler": _WHOLE,
    "torch_sparse.tensor.SparseTensor": Kind(
        lambda matrix: _attributes(vars(matrix)["storage"]), content=_sparse_tensor
    ),
    "dgl.heterograph.DGLGraph": DGL,
    # It keeps the graph that it sampled last, and an array for the nodes.
    "dgl.dataloading.neighbor_sampler.NeighborSampler": Kind(_stored("g", "mapping")),
}
"""Kinds by the full name of a type. A subclass has the kind of its nearest base."""

_CONTAINERS: Mapping[type, Kind] = {
    **dict.fromkeys((dict, MappingProxyType), Kind(_items, content=partial(_items, keys=True), is_free=True)),
    **dict.fromkeys((list, tuple, deque), Kind(_elements, is_free=True)),
    **dict.fromkeys((set, frozenset), Kind(_members)),
}
"""Kinds of containers and of their subclasses."""

_LIBRARIES: Mapping[tuple[str, str], Kind] = {
    ("networkx", "Graph"): Kind(
        lambda graph: (*_stored("_node", "_adj")(graph), (".graph", vars(graph)["graph"]))
    ),
    ("scipy.sparse", "sparray"): Kind(_scipy),
    ("scipy.sparse", "spmatrix"): Kind(_scipy),
    ("pandas", "DataFrame"): Kind(_frame),
    ("pandas", "Series"): Kind(
        lambda value: (("", value.to_numpy()), (".index", value.index.to_numpy()), (".name", value.name))
    ),
    ("polars", "DataFrame"): Kind(
        lambda value: (
            *((f"[{column.name!r}]", column.to_numpy()) for column in value.get_columns()),
            (".columns", tuple(value.columns)),
        )
    ),
    ("numpy.ma", "MaskedArray"): Kind(
        lambda value: (
            (".mask", sys.modules["numpy"].ma.getmaskarray(value)),
            (".data", value.filled(value.dtype.type())),
        )
    ),
}
"""Kinds by module and name of a library's type. They call functions of the library to read the parts."""


def tensors(value: Any) -> Iterator[Any]:
    """Yield the strided tensors in a value of a known type; some may occur twice."""
    for tensor in tensors_of_any_layout(value):
        if tensor.layout == sys.modules["torch"].strided and not tensor.is_nested:
            yield tensor
        else:
            yield from tensors(strided_parts(tensor))


def tensors_of_any_layout(value: Any) -> Iterator[Any]:
    """Yield the tensors in a value of a known type. Sparse and nested tensors are not taken apart."""
    kind = kind_of(value) if "torch" in sys.modules else None
    if kind is TENSOR:
        yield value
    elif kind is not None:
        for _, part in kind.parts(value):
            yield from tensors_of_any_layout(part)
