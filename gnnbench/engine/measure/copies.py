"""Copies the inputs of a call, each type in its own way; see parts.py for the types."""

import copy
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..ground.parts import (
    LEAF,
    TENSOR,
    dgl_features,
    kind_of,
    sparse_layouts,
    strided_parts,
    tensors,
    tensors_of_any_layout,
)


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
        kind = kind_of(value)
        if kind is None:
            self.left[type(value).__name__] = None
            return value
        if kind is LEAF:
            return value
        if id(value) not in self.memo:
            names = (f"{base.__module__}.{base.__qualname__}" for base in type(value).__mro__)
            special = next((_SPECIAL[name] for name in names if name in _SPECIAL), _copy_parts)
            try:
                self.memo[id(value)] = (_copy_tensor if kind is TENSOR else special)(value, self)
            except Exception as error:  # noqa: BLE001 - a module may contain anything
                return self.tear(value, f"{type(value).__name__} ({type(error).__name__})")
            # Keep the value alive as long as its id is in use, as deepcopy does.
            self.memo.setdefault(id(self.memo), []).append(value)
        return self.memo[id(value)]

    def tear(self, value: Any, what: str) -> Any:
        """Note a value with tensors that cannot be copied, and return it."""
        self.torn[what] = None
        return value


def _torch() -> Any:
    return sys.modules["torch"]


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


def _why_not(value: Any) -> str | None:
    torch = _torch()
    reasons = {
        "a non-leaf tensor of an autograd graph": not value.is_leaf,
        "a tensor with hooks": bool(value._backward_hooks),  # noqa: SLF001 - there is no public way to ask
        "a quantized tensor": value.is_quantized,
        "a nested tensor": value.is_nested,
        "a tensor that is conjugated or negated when read": value.is_conj() or value.is_neg(),
        "an inference tensor": value.is_inference(),
        f"a tensor of layout {value.layout}": value.layout not in (torch.strided, *sparse_layouts()),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _copy_whole(value: Any, copies: Copies) -> Any:
    """Copy with deepcopy, after the tensors: deepcopy alone loses gradients, and shares CSR indices."""
    for tensor in tensors_of_any_layout(value):
        copies.of(tensor)
    return copy.deepcopy(value, copies.memo)


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


def _copy_function(value: Any, copies: Copies) -> Any:
    if any(True for _ in tensors(value)):
        return copies.tear(value, f"tensors that {value.__name__} captured")
    return value


def _copy_dgl(graph: Any, copies: Copies) -> Any:
    """Copy with deepcopy, which copies the structure itself, after the features, whose gradients it loses."""
    for tensor in tensors(dgl_features(graph)):
        copies.of(tensor)
    return copy.deepcopy(graph, copies.memo)


def _copy_parts(value: Any, copies: Copies) -> Any:
    kind = kind_of(value)
    assert kind
    if kind.rebuild is None:
        return _copy_whole(value, copies)
    return kind.rebuild(value, [copies.of(part) for _, part in kind.parts(value)])


_SPECIAL: Mapping[str, Callable[[Any, Copies], Any]] = {
    "builtins.function": _copy_function,
    "torch.optim.optimizer.Optimizer": _copy_optimizer,
    "dgl.heterograph.DGLGraph": _copy_dgl,
}
"""By the full name of a type."""
