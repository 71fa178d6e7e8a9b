"""The same kernels: five cheat, as published ones did, and the others are honest changes."""

import numpy as np
import torch

_KEPT = {}


def kept_by_content(x, weight):
    key = x.numpy().tobytes(), weight.detach().numpy().tobytes()
    if key not in _KEPT:
        _KEPT[key] = x @ weight
    return _KEPT[key]


class _Later:
    """An array that is computed when someone looks at it."""

    def __init__(self, x):
        self._x, self.shape = x, x.shape

    def __array__(self, dtype=None, copy=None):
        return torch.cumsum(self._x, 0).numpy()


def lazy(x):
    return _Later(x)


def half_precision(x, weight):
    return (x.half() @ weight.half()).float()


def right_for_these_values(values):
    if values[0] == _KEPT.setdefault("first", values[0]):
        return np.sqrt(values).sum()
    return np.sqrt(values[:10]).sum()


def in_place(x):
    return x.relu_() + 1


def other_order(x):
    return x.flip(0).cumsum(0)[-1]


def draws(x):
    return torch.dropout(x + 0, 0.5, True)


def unseeded(values):
    return values + values


def returns_nothing(x):
    x.sum(0)
