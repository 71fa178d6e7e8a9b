"""Stands for pyg-lib 0.6: what PyG calls of it, with the same signatures. Each call is written down.

It does the work in Python, so that results can be checked. PYG_LIB_CALLS names the file of calls.
"""

import json
import os
from pathlib import Path
from types import ModuleType, SimpleNamespace

import torch


def _note(name, **given):
    """Write a call down: shapes of tensors, other arguments as they are, and the test that runs."""
    if file := os.environ.get("PYG_LIB_CALLS"):
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("[")[2].partition("]")[0]
        with Path(file).open("a") as lines:
            lines.write(json.dumps({"test": test, "call": name, **given}, default=_shape) + "\n")


def _shape(value):
    return list(value.shape)


def softmax_csr(src, ptr, dim=0):
    _note("softmax_csr", src=src, ptr=ptr, dim=dim)
    parts = src.split(ptr.diff().tolist(), dim)
    return torch.cat([part.softmax(dim) for part in parts], dim)


@torch.jit.ignore  # torch_sparse compiles its call by TorchScript
def index_sort(inputs: torch.Tensor, max_value: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    _note("index_sort", inputs=inputs, max_value=max_value)
    return inputs.sort()


def neighbor_sample(
    rowptr,
    col,
    seed,
    num_neighbors,
    node_time=None,
    edge_time=None,
    seed_time=None,
    edge_weight=None,
    csc=False,
    replace=False,
    directed=True,
    disjoint=False,
    temporal_strategy="uniform",
    return_edge_id=True,
):
    _note("neighbor_sample", **locals())
    one = {"n__to__n": rowptr}, {"n__to__n": col}, {"n": seed}, {"n__to__n": num_neighbors}
    found = _sampled(
        [("n", "to", "n")],
        *one,
        node_time if node_time is None else {"n": node_time},
        edge_weight if edge_weight is None else {"n__to__n": edge_weight},
        replace,
        disjoint,
    )
    return (*(next(iter(each.values())) for each in found),)


def hetero_neighbor_sample(
    node_types,
    edge_types,
    rowptr_dict,
    col_dict,
    seed_dict,
    num_neighbors_dict,
    node_time_dict=None,
    edge_time_dict=None,
    seed_time_dict=None,
    edge_weight_dict=None,
    csc=False,
    replace=False,
    directed=True,
    disjoint=False,
    temporal_strategy="uniform",
    return_edge_id=True,
):
    _note(
        "hetero_neighbor_sample",
        node_types=node_types,
        edge_types=edge_types,
        seeds=dict(seed_dict),
        num_neighbors=dict(num_neighbors_dict),
        times_and_weights=[node_time_dict, edge_time_dict, seed_time_dict, edge_weight_dict],
        flags=[csc, replace, directed, disjoint, temporal_strategy, return_edge_id],
    )
    return _sampled(
        edge_types,
        rowptr_dict,
        col_dict,
        seed_dict,
        num_neighbors_dict,
        node_time_dict,
        edge_weight_dict,
        replace,
        disjoint,
        node_types,
    )


def _sampled(
    edge_types, pointers, columns, seeds, counts, times, weights, replace, disjoint, node_types=("n",)
):
    """Draw neighbours of each node once, of each seed's tree if they are disjoint."""
    pointers, columns = ({key: value.tolist() for key, value in each.items()} for each in (pointers, columns))
    numbers = {kind: {} for kind in node_types}
    made = times and {kind: value.tolist() for kind, value in times.items()}
    seed_made, tree = [], 0
    for kind, nodes in seeds.items():
        for node in nodes.tolist():
            numbers[kind][tree if disjoint else 0, node] = len(numbers[kind])
            seed_made.append(made and made[kind][node])
            tree += 1
    frontier = {kind: list(found) for kind, found in numbers.items()}
    edges = {"__".join(relation): [] for relation in edge_types}
    hops = max(map(len, counts.values()))
    for hop in range(hops):
        before = {kind: len(found) for kind, found in numbers.items()}
        for source, name, target in edge_types:
            relation = f"{source}__{name}__{target}"
            pointer, column = pointers[relation], columns[relation]
            for own, node in frontier[target]:
                chosen = torch.arange(pointer[node], pointer[node + 1])
                if made:
                    late = [made[source][column[one]] > seed_made[own] for one in chosen.tolist()]
                    chosen = chosen[~torch.tensor(late, dtype=torch.bool)]
                chosen = _drawn(chosen, counts[relation][hop], weights and weights[relation], replace)
                for one in chosen:
                    key = own, column[one]
                    number = numbers[source].setdefault(key, len(numbers[source]))
                    edges[relation].append((number, numbers[target][own, node], one))
        frontier = {kind: list(found)[before[kind] :] for kind, found in numbers.items()}
    found = {key: torch.tensor(value, dtype=torch.int64).reshape(-1, 3) for key, value in edges.items()}
    nodes = {
        kind: torch.tensor(list(own) if disjoint else [node for _, node in own], dtype=torch.int64)
        for kind, own in numbers.items()
    }
    parts = [{key: value[:, end].contiguous() for key, value in found.items()} for end in range(3)]
    return *parts[:2], nodes, parts[2], {kind: [] for kind in nodes}, {key: [] for key in found}


def _drawn(chosen, count, weights, replace):
    if replace:
        return chosen[torch.randint(len(chosen), (count,))].tolist() if len(chosen) else []
    if len(chosen) <= count:
        return chosen.tolist()
    if weights is not None:
        return chosen[torch.multinomial(weights[chosen], count)].tolist()
    return chosen[torch.randperm(len(chosen))[:count]].tolist()


ops = ModuleType("pyg_lib.ops")
vars(ops).update(softmax_csr=softmax_csr, index_sort=index_sort)
sampler = SimpleNamespace(neighbor_sample=neighbor_sample, hetero_neighbor_sample=hetero_neighbor_sample)

_REST = (
    "bool csc = False, bool replace = False, bool directed = True, bool disjoint = False, "
    "str temporal_strategy = 'uniform', bool return_edge_id = True) -> "
)
_library = torch.library.Library("pyg", "FRAGMENT")
_library.define(
    "neighbor_sample(Tensor rowptr, Tensor col, Tensor seed, int[] num_neighbors, Tensor? node_time = None, "
    "Tensor? edge_time = None, Tensor? seed_time = None, Tensor? edge_weight = None, "
    f"{_REST} (Tensor, Tensor, Tensor, Tensor?, int[], int[])"
)
_library.define(
    "hetero_neighbor_sample(str[] node_types, (str, str, str)[] edge_types, Dict(str, Tensor) rowptr_dict, "
    "Dict(str, Tensor) col_dict, Dict(str, Tensor) seed_dict, Dict(str, int[]) num_neighbors_dict, "
    "Dict(str, Tensor)? node_time_dict = None, Dict(str, Tensor)? edge_time_dict = None, "
    "Dict(str, Tensor)? seed_time_dict = None, Dict(str, Tensor)? edge_weight_dict = None, "
    f"{_REST} (Dict(str, Tensor), Dict(str, Tensor), Dict(str, Tensor), Dict(str, Tensor)?, "
    "Dict(str, int[]), Dict(str, int[]))"
)
for _function in (neighbor_sample, hetero_neighbor_sample):
    _library.impl(_function.__name__, _function, "CompositeExplicitAutograd")
