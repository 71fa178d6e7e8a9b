"""The functions of libraries that ranges wrap, and their places in modules and classes."""

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

from ..store.suite import installed

CLASS = "{class}"
"""As a target's name, it stands for the name of the class that has the method."""


@dataclass(frozen=True)
class Target:
    """A function or method to wrap as a range."""

    name: str
    """The range's name; several targets may share it."""
    place: str
    """`module:function`, wrapped in every loaded module that has it under this name, or
    `module:Class.method`, wrapped in the class and in each subclass that overrides it."""
    inline: bool = False
    """Whether torch functions called in its body become ranges, too; see `inline`."""


_LOSSES = (
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "nll_loss",
)
_ACTIVATIONS = ("elu", "gelu", "leaky_relu", "relu", "silu")

_SUITE = installed()

PHASES = (
    Target("zero_grad", "torch.optim:Optimizer.zero_grad"),
    Target("zero_grad", "torch.nn:Module.zero_grad"),
    Target("forward", "torch.nn:Module.__call__"),
    *(Target("loss", place) for place in _SUITE.losses),
    Target("loss", "torch.nn.modules.loss:_Loss.__call__"),  # otherwise Module.__call__ makes it a forward
    *(Target("loss", f"torch.nn.functional:{name}") for name in _LOSSES),
    Target("backward", "torch:Tensor.backward"),
    Target("backward", "torch.autograd:backward"),
    Target("backward", "torch.autograd:grad"),
    Target("optimizer.step", "torch.optim:Optimizer.step"),
)
"""The phases of an epoch."""

LAYERS = (
    *PHASES,
    *(Target("activation", f"torch.nn.functional:{name}") for name in _ACTIVATIONS),
    Target("x·W", "torch.nn:Linear.forward"),
    *(Target(CLASS, place, inline=True) for place in _SUITE.layers),
    # PyG
    Target(CLASS, "torch_geometric.nn.conv:MessagePassing.forward", inline=True),
    Target("x·W", "torch_geometric.nn.dense.linear:Linear.forward"),
    Target("propagate", "torch_geometric.nn.conv:MessagePassing.propagate"),
    Target("message", "torch_geometric.nn.conv:MessagePassing.message", inline=True),
    Target("aggregate", "torch_geometric.nn.conv:MessagePassing.aggregate"),
    Target("message_and_aggregate", "torch_geometric.nn.conv:MessagePassing.message_and_aggregate"),
    Target("gcn_norm", "torch_geometric.nn.conv.gcn_conv:gcn_norm", inline=True),
    Target("add_remaining_self_loops", "torch_geometric.utils:add_remaining_self_loops"),
    Target("scatter", "torch_geometric.utils:scatter"),
    Target("spmm", "torch_geometric.utils:spmm"),
    # PyG on torch_sparse
    Target("fill_value", "torch_sparse:SparseTensor.fill_value"),
    Target("fill_diag", "torch_sparse:fill_diag"),
    Target("set_diag", "torch_sparse:set_diag"),
    Target("remove_diag", "torch_sparse:remove_diag"),
    Target("sum", "torch_sparse:sum"),
    Target("mul", "torch_sparse:mul"),
    Target("spmm", "torch_sparse:matmul"),
    # DGL
    Target(CLASS, "dgl.nn.pytorch.conv:GraphConv.forward", inline=True),
    Target("degrees", "dgl:DGLGraph.in_degrees"),
    Target("degrees", "dgl:DGLGraph.out_degrees"),
    Target("update_all", "dgl:DGLGraph.update_all"),
    Target("spmm", "dgl.ops:gspmm"),
)
"""The phases and the parts of a graph convolution. Only names of classes begin with a capital."""


class Attribute(NamedTuple):
    """A wrapped attribute of a module or class."""

    owner: Any
    name: str
    value: Any
    owned: bool
    """Whether the owner defines it; False: a class inherits it."""

    def put_back(self) -> None:
        """Restore the original; an inherited attribute is deleted from the class again."""
        if self.owned:
            setattr(self.owner, self.name, self.value)
        else:
            delattr(self.owner, self.name)


def find(targets: Sequence[Target]) -> tuple[list[tuple[Target, Attribute]], tuple[str, ...]]:
    """Find the targets' attributes in imported modules; a library that is not imported is ignored.

    Returns:
        The attributes to wrap, each with its target; and a line for each target that an imported library
        lacks.
    """
    found: list[tuple[Target, Attribute]] = []
    missing: list[str] = []
    holders = _holders({target.place.partition(":")[2] for target in targets})
    for target in targets:
        try:
            found += [(target, attribute) for attribute in _attributes(target, holders)]
        except LookupError as error:
            package = sys.modules[target.place.partition(":")[0].partition(".")[0]]
            version = f" {package.__version__}" if hasattr(package, "__version__") else ""
            missing.append(f"{package.__name__}{version} has no {error.args[0]}: {target.name} is not shown")
    return found, tuple(missing)


def put_originals_back(originals: Mapping[int, Any], owners: Iterable[Any]) -> None:
    """Remove wrappers that a library stored elsewhere, as PyG in a layer's class when it is first made."""
    looked_at: dict[int, Any] = {}
    for owner in owners:
        inner = _subclasses(owner) if isinstance(owner, type) else ()
        looked_at |= {id(each): each for each in (owner, *inner)}
    for owner in looked_at.values():
        for name, value in list(_own(owner).items()):
            if id(value) in originals:
                setattr(owner, name, originals[id(value)])


def _holders(names: set[str]) -> Mapping[str, list[Any]]:
    """Return the modules that have an attribute of each name; one search of all modules serves all names."""
    found: dict[str, list[Any]] = {name: [] for name in names}
    for module in list(sys.modules.values()):
        for name in names & _own(module).keys():
            found[name].append(module)
    return found


def _attributes(target: Target, holders: Mapping[str, list[Any]]) -> list[Attribute]:
    """Return the attributes of a target; none if its library is not imported.

    Raises:
        LookupError: the library lacks it; the message says what.
    """
    module_name, _, place = target.place.partition(":")
    module = sys.modules.get(module_name)
    if module is None:
        if _is_gone(module_name):
            raise LookupError(f"module {module_name}")
        return []
    *owner_name, name = place.split(".")
    owner: Any = module
    for part in owner_name:
        owner = getattr(owner, part, None)
    value = inspect.getattr_static(owner, name, None)
    if owner is None or value is None:
        raise LookupError(f"{place} in {module_name}")
    if owner_name:
        owners = [owner, *(each for each in _subclasses(owner) if name in _own(each))]
    else:
        owners = [holder for holder in holders[name] if _own(holder)[name] is value]
    return [Attribute(each, name, _own(each).get(name, value), name in _own(each)) for each in owners]


def _own(owner: Any) -> Mapping[str, Any]:
    return getattr(owner, "__dict__", {})


def _subclasses(owner: type) -> list[type]:
    found: dict[type, None] = {}  # an ordered set: a class may have several bases
    children: list[type] = type.__subclasses__(owner)
    for child in children:
        found.update(dict.fromkeys((child, *_subclasses(child))))
    return list(found)


def _is_gone(module_name: str) -> bool:
    """Whether a module does not exist, as opposed to not imported."""
    parent_name, _, _ = module_name.rpartition(".")
    if not parent_name:
        return False
    parent = sys.modules.get(parent_name)
    if parent is None:
        return _is_gone(parent_name)
    return PathFinder.find_spec(module_name, getattr(parent, "__path__", ())) is None
