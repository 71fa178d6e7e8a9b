"""Copies the inputs of a call according to their types, which parts.py lists."""

import copy
import sys
from typing import Any

from ..ground.parts import (
    DGL,
    FUNCTION,
    LEAF,
    OPTIMIZER,
    TENSOR,
    Kind,
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
        self._memo: dict[Any, Any] = {}
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
        if id(value) not in self._memo:
            try:
                self._memo[id(value)] = self._copy(value, kind)
            except Exception as error:  # noqa: BLE001 - a module may contain anything
                return self._tear(value, f"{type(value).__name__} ({type(error).__name__})")
            # Keep the value alive as long as its id is in use, as deepcopy does.
            self._memo.setdefault(id(self._memo), []).append(value)
        return self._memo[id(value)]

    def _tear(self, value: Any, what: str) -> Any:
        """Note a value with tensors that cannot be copied, and return it."""
        self.torn[what] = None
        return value

    def _copy(self, value: Any, kind: Kind) -> Any:
        if kind is TENSOR:
            return self._copy_tensor(value)
        if kind is FUNCTION:
            has_tensors = any(True for _ in tensors(value))
            return self._tear(value, f"tensors that {value.__name__} captured") if has_tensors else value
        if kind.rebuild:
            return kind.rebuild(value, [self.of(part) for _, part in kind.parts(value)])
        if kind is OPTIMIZER:
            return self._copy_optimizer(value)
        # Deepcopy alone loses gradients, and shares CSR indices. It copies the structure of DGL's graphs.
        for tensor in tensors_of_any_layout(dgl_features(value) if kind is DGL else value):
            self.of(tensor)
        return copy.deepcopy(value, self._memo)

    def _copy_tensor(self, value: Any) -> Any:
        """Copy a leaf tensor with its gradient and strides; views of one storage share its copy."""
        torch = sys.modules["torch"]
        if why_not := _why_not(value):
            return self._tear(value, why_not)
        if value.layout != torch.strided:
            clone = self._copy_sparse(value)
        else:
            storage = value.untyped_storage()
            place = ("storage", value.device, storage.data_ptr(), storage.nbytes())
            if place not in self._memo:
                duplicate = storage.clone()
                self._memo[place] = duplicate.pin_memory() if value.is_pinned() else duplicate
            clone = torch.empty(0, dtype=value.dtype, device=value.device)
            clone.set_(self._memo[place], value.storage_offset(), value.size(), value.stride())
        if type(value) is torch.nn.Parameter:
            clone = torch.nn.Parameter(clone, value.requires_grad)
        clone.requires_grad_(value.requires_grad)
        if value.grad is not None:
            clone.grad = self.of(value.grad)
        return clone

    def _copy_sparse(self, value: Any) -> Any:
        torch = sys.modules["torch"]
        parts = [self.of(part.detach()) for part in strided_parts(value)]
        with torch.sparse.check_sparse_tensor_invariants(enable=False):
            if value.layout == torch.sparse_coo:
                return torch.sparse_coo_tensor(*parts, size=value.shape, is_coalesced=value.is_coalesced())
            return torch.sparse_compressed_tensor(*parts, size=value.shape, layout=value.layout)

    def _copy_optimizer(self, value: Any) -> Any:
        """Copy all attributes: its own deepcopy omits hooks, and the parameters of LBFGS."""
        if "step" in vars(value):
            return self._tear(value, f"{type(value).__name__} whose step method was replaced")
        clone = self._memo[id(value)] = object.__new__(type(value))
        for tensor in tensors(value):
            self.of(tensor)
        vars(clone).update({name: copy.deepcopy(item, self._memo) for name, item in vars(value).items()})
        return clone


def _why_not(value: Any) -> str | None:
    torch = sys.modules["torch"]
    reasons = {
        "a non-leaf tensor of an autograd graph": not value.is_leaf,
        "a tensor with hooks": bool(value._backward_hooks),  # noqa: SLF001 - there is no public way to ask
        "a quantized tensor": value.is_quantized,
        "a nested tensor": value.is_nested,
        "a tensor with the conjugate or negative bit": value.is_conj() or value.is_neg(),
        "an inference tensor": value.is_inference(),
        f"a tensor of layout {value.layout}": value.layout not in (torch.strided, *sparse_layouts()),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
