"""Kernels, as they were."""

import numpy as np
import torch


def kept_by_content(x, weight):
    return x @ weight


def lazy(x):
    return torch.cumsum(x, 0)


def half_precision(x, weight):
    return x @ weight


def right_for_these_values(values):
    return np.sqrt(values).sum()


def in_place(x):
    return x.relu() + 1


def other_order(x):
    return x.sum(0)


def draws(x):
    return torch.dropout(x, 0.5, True)


def unseeded(values):
    return values * 2


def returns_nothing(x):
    x.sum()
