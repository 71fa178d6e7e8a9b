"""Gradients that a call leaves, and those of what it returns."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

_OF = "gradient of {}"


def is_tensor(value: Any) -> bool:
    """Tell whether a value is a tensor of torch."""
    torch = sys.modules.get("torch")
    return bool(torch) and isinstance(value, torch.Tensor)  # type: ignore[union-attr]


def is_leaf(value: Any) -> bool:
    """Tell whether a value is a tensor that gets a gradient by a backward pass."""
    return is_tensor(value) and value.is_leaf and value.requires_grad


def left_by_call(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies of the gradients that inputs have, by the name of the part: `gradient of argument 1`."""
    return {
        _OF.format(place): _dense(one.grad.detach()).clone()
        for place, one in inputs.items()
        if is_leaf(one) and one.grad is not None
    }


def by_output(opened: Iterable[Any], inputs: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the gradients of a call's output, in directions that both sides share, and whether it has some.

    An input that the output does not depend on has a gradient of zeros: some code computes one, some none.
    There are none at all if the call ran backward itself, and freed the graph.

    Args:
        opened: the parts of the output.
        inputs: tensors and others, by place.

    Returns:
        By the name of the part: `gradient of argument 1 by the output`.
    """
    tensors = [one for one in opened if is_tensor(one)]
    leaves = {place: one for place, one in inputs.items() if is_leaf(one)}
    if not tensors or not leaves:
        return {}, False
    torch = sys.modules["torch"]
    ends = [one for one in tensors if one.requires_grad]
    directions = [torch.linspace(1, 2, one.numel()).to(one).reshape(one.shape) for one in ends]
    found = [None] * len(leaves)
    try:
        if ends:
            found = torch.autograd.grad(ends, list(leaves.values()), directions, allow_unused=True)
    except RuntimeError:
        return {}, False
    return {
        f"{_OF.format(place)} by the output": torch.zeros_like(leaf) if one is None else _dense(one)
        for (place, leaf), one in zip(leaves.items(), found, strict=True)
    }, bool(ends)


def _dense(gradient: Any) -> Any:
    """Return a gradient as a strided tensor: that of an embedding may be sparse or not."""
    return gradient if gradient.layout == sys.modules["torch"].strided else gradient.to_dense()
