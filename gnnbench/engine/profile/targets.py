"""The functions of torch, PyG and DGL that profiles time as ranges, and how to find them in memory."""

import inspect
import sys
from collections.abc import Mapping
from functools import reduce
from typing import Any

from ..store.suite import installed

CLASS = "{class}"
"""Placeholder in a range's name for the name of the method's class."""
_INLINE = (CLASS, "message", "gcn_norm")
"""Ranges in which torch functions open ranges too."""
_LOSSES = (
    "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy kl_div l1_loss mse_loss nll_loss"
)
_ACTIVATIONS = ("elu", "gelu", "leaky_relu", "relu", "silu")
_SUITE = installed()

PHASES: Mapping[str, str] = {
    "torch.optim:Optimizer.zero_grad": "zero_grad",
    "torch.nn:Module.zero_grad": "zero_grad",
    "torch.nn:Module.__call__": "forward",
    **dict.fromkeys(_SUITE.losses, "loss"),
    "torch.nn.modules.loss:_Loss.__call__": "loss",  # otherwise Module.__call__ makes it a forward
    **{f"torch.nn.functional:{name}": "loss" for name in _LOSSES.split()},
    "torch:Tensor.backward": "backward",
    "torch.autograd:backward": "backward",
    "torch.autograd:grad": "backward",
    "torch.optim:Optimizer.step": "optimizer.step",
}
"""Phases of an epoch, by function. `module:function` is found wherever it is imported."""

LAYERS: Mapping[str, str] = {
    **PHASES,
    **{f"torch.nn.functional:{name}": "activation" for name in _ACTIVATIONS},
    "torch.nn:Linear.forward": "x·W",
    **dict.fromkeys(_SUITE.layers, CLASS),
    # PyG
    "torch_geometric.nn.conv:MessagePassing.forward": CLASS,
    "torch_geometric.nn.dense.linear:Linear.forward": "x·W",
    "torch_geometric.nn.conv:MessagePassing.propagate": "propagate",
    "torch_geometric.nn.conv:MessagePassing.message": "message",
    "torch_geometric.nn.conv:MessagePassing.aggregate": "aggregate",
    "torch_geometric.nn.conv:MessagePassing.message_and_aggregate": "message_and_aggregate",
    "torch_geometric.nn.conv.gcn_conv:gcn_norm": "gcn_norm",
    "torch_geometric.utils:add_remaining_self_loops": "add_remaining_self_loops",
    "torch_geometric.utils:scatter": "scatter",
    "torch_geometric.utils:spmm": "spmm",
    # PyG on torch_sparse
    "torch_sparse:SparseTensor.fill_value": "fill_value",
    **{f"torch_sparse:{name}": name for name in ("fill_diag", "set_diag", "remove_diag", "sum", "mul")},
    "torch_sparse:matmul": "spmm",
    # DGL
    "dgl.nn.pytorch.conv:GraphConv.forward": CLASS,
    "dgl:DGLGraph.in_degrees": "degrees",
    "dgl:DGLGraph.out_degrees": "degrees",
    "dgl:DGLGraph.update_all": "update_all",
    "dgl.ops:gspmm": "spmm",
}
"""The phases, and the parts of a graph convolution. Only names of classes begin with a capital letter."""

Attribute = tuple[Any, str, Any, str, bool]
"""A module or class; an attribute's name and value; the range's name, and whether it is in _INLINE."""


def find(targets: Mapping[str, str]) -> list[Attribute]:
    """Return the attributes of imported modules and classes that are targets, as in `{"torch:mm": "mm"}`."""
    attributes: list[Attribute] = []
    for target, range_name in targets.items():
        module_name, _, path = target.partition(":")
        *outer, name = path.split(".")
        owner: Any = reduce(lambda item, part: getattr(item, part, None), outer, sys.modules.get(module_name))
        value = inspect.getattr_static(owner, name, None)
        if value is None:
            continue
        owners: list[Any] = [item for item in list(sys.modules.values()) if members(item).get(name) is value]
        if outer:
            owners = [owner, *(child for child in subclasses(owner) if name in vars(child))]
        for each in owners:
            label, inline = range_name.replace(CLASS, each.__name__), range_name in _INLINE
            attributes.append((each, name, members(each).get(name, value), label, inline))
    return attributes


def members(owner: Any) -> Mapping[str, Any]:
    """Return the attributes that a module or class itself has, without those of its base classes."""
    return getattr(owner, "__dict__", {})


def subclasses(owner: type) -> list[type]:
    """Return all direct and indirect subclasses of a class, each once."""
    children: list[type] = type.__subclasses__(owner)
    return list(dict.fromkeys(descendant for child in children for descendant in (child, *subclasses(child))))
