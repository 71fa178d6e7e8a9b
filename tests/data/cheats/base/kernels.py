"""Kernels, as they were."""

import numpy as np
import torch


def kept_by_address(x, weight):
    return x @ weight


def kept_by_content(x, weight):
    return x @ weight


def replayed(x):
    return (x * x).sum(0)


def lazy(x):
    return torch.cumsum(x, 0)


def half_precision(x, weight):
    return x @ weight


def part_skipped(x, index):
    return torch.zeros(50, x.shape[1]).index_add_(0, index, x)


def right_for_these_values(values):
    return np.sqrt(values).sum()


def in_place(x):
    return x.relu() + 1


def other_order(x):
    return x.sum(0)


def fused(x, weight, bias):
    return x @ weight + bias


def draws(x):
    return torch.dropout(x, 0.5, True)


def unseeded(values):
    return values * 2


def edges(index):
    return torch.bincount(index)


def returns_nothing(x):
    x.sum()
