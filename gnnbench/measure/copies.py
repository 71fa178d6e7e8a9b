"""Copies the inputs of a call, each type in its own way.

Types are found by name, so that only packages are imported that the measured code imports itself.
"""

import copy
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import MethodType
from typing import Any, NamedTuple


class Copies:
    """One set of copies; a value that occurs twice is copied once."""

    def __init__(self) -> None:
        self.memo: dict[Any, Any] = {}
        """The memo of `copy.deepcopy`, by `id`; also the copies of storages, by address."""
        self.left: dict[str, None] = {}
        """Unknown types, which were not copied."""
        self.torn: dict[str, None] = {}
        """Inputs with tensors that could not be copied. Copies of the others would do different work: for
        example an optimiser whose module is not copied."""

    def of(self, value: Any) -> Any:
        """Return a copy of a value of a known type; note any other value, and return it."""
        kind = _kind(value)
        if kind is None:
            self.left[type(value).__name__] = None
            return value
        if id(value) not in self.memo:
            try:
                self.memo[id(value)] = kind.copy(value, self)
            except Exception as error:  # noqa: BLE001 - a module may contain anything
                return self.tear(value, f"{type(value).__name__} ({type(error).__name__})")
            # Keep the value alive as long as its id is in use, as deepcopy does.
            self.memo.setdefault(id(self.memo), []).append(value)
        return self.memo[id(value)]

    def tear(self, value: Any, what: str) -> Any:
        """Note a value with tensors that cannot be copied, and return it."""
        self.torn[what] = None
        return value


class _Kind(NamedTuple):
    """How a type is searched for tensors, and copied."""

    tensors: Callable[[Any], Iterable[Any]]
    """Returns the parts of a value that are tensors or may contain some."""
    copy: Callable[[Any, Copies], Any]
    subclasses: bool = True
    """Whether subclasses are treated alike."""


def tensors(value: Any) -> Iterator[Any]:
    """Yield the strided tensors in a value of a known type; some may occur twice."""
    for tensor in _of_any_layout(value):
        if tensor.layout == _torch().strided and not tensor.is_nested:
            yield tensor
        else:
            yield from tensors(strided_parts(tensor))


def _torch() -> Any:
    return sys.modules["torch"]


def _kind(value: Any) -> _Kind | None:
    for base in type(value).__mro__[:-1]:
        kind = _KINDS.get(f"{base.__module__}.{base.__qualname__}")
        if kind is not None:
            return kind if kind.subclasses or base is type(value) else None
    return None


def _copy_tensor(value: Any, copies: Copies) -> Any:
    """Copy a leaf tensor with its gradient and strides; views of one storage share its copy."""
    torch = _torch()
    if why_not := _why_not(value):
        return copies.tear(value, why_not)
    if value.layout != torch.strided:
        found = _copy_sparse(value, copies)
    else:
        storage = value.untyped_storage()
        place = ("storage", value.device, storage.data_ptr(), storage.nbytes())
        if place not in copies.memo:
            copied = storage.clone()
            copies.memo[place] = copied.pin_memory() if value.is_pinned() else copied
        found = torch.empty(0, dtype=value.dtype, device=value.device)
        found.set_(copies.memo[place], value.storage_offset(), value.size(), value.stride())
    if type(value) is torch.nn.Parameter:
        found = torch.nn.Parameter(found, value.requires_grad)
    found.requires_grad_(value.requires_grad)
    if value.grad is not None:
        found.grad = copies.of(value.grad)
    return found


def _copy_sparse(value: Any, copies: Copies) -> Any:
    torch = _torch()
    parts = [copies.of(part.detach()) for part in strided_parts(value)]
    with torch.sparse.check_sparse_tensor_invariants(enable=False):
        if value.layout == torch.sparse_coo:
            return torch.sparse_coo_tensor(*parts, size=value.shape, is_coalesced=value.is_coalesced())
        return torch.sparse_compressed_tensor(*parts, size=value.shape, layout=value.layout)


def _sparse_layouts() -> tuple[Any, ...]:
    torch = _torch()
    return torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc


def _why_not(value: Any) -> str | None:
    """Return why a tensor cannot be copied; None if it can."""
    torch = _torch()
    reasons = {
        "a non-leaf tensor of an autograd graph": not value.is_leaf,
        "a tensor with hooks": bool(value._backward_hooks),  # noqa: SLF001 - there is no public way to ask
        "a quantized tensor": value.is_quantized,
        "a nested tensor": value.is_nested,
        "a tensor that is conjugated or negated when read": value.is_conj() or value.is_neg(),
        "an inference tensor": value.is_inference(),
        f"a tensor of layout {value.layout}": value.layout not in (torch.strided, *_sparse_layouts()),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def strided_parts(value: Any) -> tuple[Any, ...]:
    """Return the strided tensors of a nested tensor, or of a sparse one in its constructor's order."""
    torch = _torch()
    if value.is_nested:
        strided = value.layout == torch.strided
        return value.values(), value._nested_tensor_size() if strided else value.offsets()  # noqa: SLF001
    if value.layout not in _sparse_layouts():
        return ()
    if value.layout == torch.sparse_coo:
        return value._indices(), value._values()  # noqa: SLF001 - the public ones need a coalesced tensor
    if value.layout in (torch.sparse_csr, torch.sparse_bsr):
        return value.crow_indices(), value.col_indices(), value.values()
    return value.ccol_indices(), value.row_indices(), value.values()


def _copy_whole(value: Any, copies: Copies) -> Any:
    """Copy with deepcopy, after the tensors: deepcopy alone loses gradients, and shares CSR indices."""
    for tensor in _of_any_layout(value):
        copies.of(tensor)
    return copy.deepcopy(value, copies.memo)


def _of_any_layout(value: Any) -> Iterator[Any]:
    """Yield the tensors in a value of a known type; a sparse one as itself, not as its parts."""
    kind = _kind(value)
    if kind is _STRIDED:
        yield value
    elif kind is not None:
        for part in kind.tensors(value):
            yield from _of_any_layout(part)


def _copy_optimizer(value: Any, copies: Copies) -> Any:
    """Copy all attributes: its own deepcopy omits hooks, and the parameters of LBFGS."""
    if "step" in vars(value):
        return copies.tear(value, f"{type(value).__name__} whose step something else replaced")
    found = object.__new__(type(value))
    copies.memo[id(value)] = found
    for tensor in tensors(value):
        copies.of(tensor)
    vars(found).update({name: copy.deepcopy(item, copies.memo) for name, item in vars(value).items()})
    return found


def _captured(function: Any) -> list[Any]:
    return [cell.cell_contents for cell in function.__closure__ or ()]


def _copy_function(value: Any, copies: Copies) -> Any:
    if any(True for _ in tensors(_captured(value))):
        return copies.tear(value, f"tensors that {value.__name__} captured")
    return value


def _copy_tuple(value: Any, copies: Copies) -> Any:
    items = map(copies.of, value)
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def _dgl_features(graph: Any) -> list[Any]:
    frames = (*graph._node_frames, *graph._edge_frames)  # noqa: SLF001 - its features by relation
    return [frame[name] for frame in frames for name in frame]


def _dgl_parts(graph: Any) -> Iterator[Any]:
    for relation in graph.canonical_etypes:
        yield from (graph.adj_tensors(form, etype=relation) for form in graph[relation].formats()["created"])
    yield _dgl_features(graph)


def _copy_dgl(graph: Any, copies: Copies) -> Any:
    """Copy with deepcopy, which copies the structure itself, after the features, whose gradients it loses."""
    for tensor in tensors(_dgl_features(graph)):
        copies.of(tensor)
    return copy.deepcopy(graph, copies.memo)


_PLAIN = _Kind(lambda _: (), lambda value, _: value)
_STRIDED = _Kind(strided_parts, _copy_tensor, subclasses=False)

_KINDS: dict[str, _Kind] = {
    **dict.fromkeys(
        (
            *("builtins.NoneType", "builtins.int", "builtins.float", "builtins.complex", "builtins.str"),
            *("builtins.bytes", "builtins.range", "builtins.slice", "builtins.type", "builtins.module"),
            *("builtins.builtin_function_or_method", "enum.Enum", "torch.dtype", "torch.device"),
            *("torch._ops.OpOverload", "torch._ops.OpOverloadPacket", "torch._C.Generator"),
            "gnnbench.workloads.mhaug.settings.Settings",
        ),
        _PLAIN,
    ),
    "builtins.function": _Kind(_captured, _copy_function),
    "builtins.method": _Kind(
        lambda method: (method.__self__,),
        lambda method, copies: MethodType(method.__func__, copies.of(method.__self__)),
    ),
    "functools.partial": _Kind(
        lambda call: (call.func, call.args, call.keywords),
        lambda call, copies: partial(copies.of(call.func), *copies.of(call.args), **copies.of(call.keywords)),
    ),
    "builtins.list": _Kind(
        lambda items: items, lambda items, copies: list(map(copies.of, items)), subclasses=False
    ),
    "builtins.tuple": _Kind(lambda items: items, _copy_tuple),
    "builtins.dict": _Kind(
        lambda items: items.values(),
        lambda items, copies: {key: copies.of(item) for key, item in items.items()},
        subclasses=False,
    ),
    "torch.Tensor": _STRIDED,
    "torch.nn.parameter.Parameter": _STRIDED,
    "torch.nested._internal.nested_tensor.NestedTensor": _STRIDED,
    "torch.nn.modules.module.Module": _Kind(
        lambda module: (*module.parameters(), *module.buffers()), _copy_whole
    ),
    "torch.optim.optimizer.Optimizer": _Kind(
        lambda optimizer: (
            *(parameter for group in optimizer.param_groups for parameter in group["params"]),
            *(part for state in optimizer.state.values() for part in state.values()),
        ),
        _copy_optimizer,
    ),
    "torch_geometric.edge_index.EdgeIndex": _Kind(lambda index: vars(index).values(), _copy_whole),
    "torch_geometric.data.data.Data": _Kind(lambda data: data.to_dict().values(), _copy_whole),
    "torch_geometric.data.hetero_data.HeteroData": _Kind(
        lambda data: (part for store in data.stores for part in store.values()), _copy_whole
    ),
    "torch_geometric.sampler.neighbor_sampler.NeighborSampler": _Kind(
        lambda sampler: vars(sampler).values(), _copy_whole
    ),
    "torch_geometric.loader.graph_saint.GraphSAINTSampler": _Kind(
        lambda sampler: (sampler.adj, sampler.data), _copy_whole
    ),
    "torch_sparse.tensor.SparseTensor": _Kind(lambda matrix: vars(matrix.storage).values(), _copy_whole),
    "dgl.heterograph.DGLGraph": _Kind(_dgl_parts, _copy_dgl),
    # Keeps the graph that it sampled last, and an array for its nodes.
    "dgl.dataloading.neighbor_sampler.NeighborSampler": _Kind(
        lambda sampler: (sampler.g, sampler.mapping), _copy_whole
    ),
}
"""By the full name of a type; a subclass is looked up by its nearest base."""
