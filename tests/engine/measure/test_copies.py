"""Copies of inputs by type; tests/suite/test_operations.py copies those of every benchmark."""

import copy
from functools import partial
from types import MethodType
from typing import NamedTuple

import pytest
import torch
from torch import nn
from torch_geometric import EdgeIndex
from torch_geometric.data import Data, HeteroData

from gnnbench.engine.ground.parts import tensors
from gnnbench.engine.measure.layouts import Copies
from gnnbench.suite.libraries import import_dgl
from tests.graphs import needs_dgl


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


def shares_memory(one, other):
    here, there = list(tensors(one)), list(tensors(other))  # both alive: some are made anew by each asking
    places = [{part.untyped_storage().data_ptr() for part in parts} - {0} for parts in (here, there)]
    return bool(places[0] & places[1])


def edge_index():
    return EdgeIndex([[0, 1, 1], [1, 0, 2]], sparse_size=(3, 3), sort_order="row").fill_cache_()


def hetero():
    data = HeteroData()
    data["paper"].x = torch.ones(3)
    data["paper", "cites", "paper"].edge_index = torch.zeros(2, 4, dtype=torch.int64)
    return data


def batch_norm():
    module = nn.BatchNorm1d(3)
    module(torch.ones(2, 3)).sum().backward()
    return module


MADE = {
    "strided": lambda: torch.arange(12.0).reshape(3, 4).t(),
    "part of a storage": lambda: torch.arange(12.0)[3:7],
    "empty": lambda: torch.ones(0),
    "csr": lambda: torch.eye(3).to_sparse_csr(),
    "csc": lambda: torch.eye(3).to_sparse_csc(),
    "coo": lambda: torch.eye(3).to_sparse_coo(),
    "EdgeIndex": edge_index,
    "Data with a CSR matrix": lambda: Data(adj_t=torch.eye(3).to_sparse_csr()),
    "HeteroData": hetero,
    "module": batch_norm,
    "list": lambda: [torch.ones(3), {"a": (torch.ones(2), 3)}],
    "named tuple": lambda: Pair(torch.ones(3), torch.zeros(3)),
    "partial": lambda: partial(torch.add, torch.ones(3), alpha=2),
    "bound method": lambda: nn.Linear(2, 2).forward,
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_all_tensors_of_a_copy_lie_elsewhere_and_hold_the_same(make):
    original = make()
    copies = Copies()
    found = copies.of(original)
    assert not copies.not_copied
    assert type(found) is type(original)
    here, there = list(tensors(original)), list(tensors(found))
    assert len(here) == len(there) > 0
    for one, other in zip(here, there, strict=True):
        assert torch.equal(one, other)
        for attribute in (torch.Tensor.stride, torch.Tensor.storage_offset):
            assert attribute(one) == attribute(other)
        assert one.requires_grad == other.requires_grad
        assert (one.grad is None) == (other.grad is None)
    assert not shares_memory(original, found)
    if isinstance(original, MethodType):
        assert found.__self__ is not original.__self__


def test_sparse_copies_are_as_sparse_as_the_original_and_have_its_gradient():
    for make in (MADE["csr"], MADE["csc"], MADE["coo"]):
        original = make().requires_grad_()
        found = Copies().of(original)
        assert found.layout == original.layout
        assert found.requires_grad
        assert torch.equal(found.to_dense(), original.to_dense())
    original.grad = MADE["coo"]()
    assert Copies().of(original).grad is not None
    uncoalesced = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,))
    assert not Copies().of(uncoalesced).is_coalesced()


def test_aliases_stay_aliases():
    base = torch.arange(6.0)
    found_base, found_row, found_same = Copies().of((base, base[:3], base))
    assert found_same is found_base
    found_base[0] = 9
    assert found_row[0] == 9
    assert base[0] == 0


def test_an_optimizer_steps_the_copied_parameters_as_it_steps_the_original_s():
    model = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(3)).sum().backward()
    optimizer.step()
    for order in ((model, optimizer), (optimizer, model)):
        found = Copies().of(order)
        found_model, found_optimizer = found if order[0] is model else found[::-1]
        before = copy.deepcopy(model.weight)
        found_optimizer.step()
        assert torch.equal(model.weight, before), "the original must stay as it is"
        assert not torch.equal(found_model.weight, before), "a gradient was lost"
    optimizer.step()
    assert torch.equal(found_model.weight, model.weight)


def test_an_optimizer_with_more_than_state_is_copied_with_all_of_it():
    """LBFGS keeps its parameters once more, and hooks are no part of what an optimiser pickles."""
    parameter = torch.ones(2, requires_grad=True)
    lbfgs = torch.optim.LBFGS([parameter])
    calls = []
    lbfgs.register_step_post_hook(lambda *_: calls.append(1))
    found, copied = Copies().of((lbfgs, parameter))

    def closure():
        copied.grad = None
        loss = (copied**2).sum()
        loss.backward()
        return loss

    found.step(closure)
    assert calls == [1]
    assert copied.abs().sum() < 2
    assert parameter.sum() == 2


def test_what_cannot_be_copied_is_left_and_named():
    captured = torch.ones(3)
    module = nn.Linear(1, 1)
    module.lock = open(__file__)  # noqa: PTH123, SIM115 - something that no one can copy
    hooked = torch.ones(1, requires_grad=True)
    hooked.register_hook(lambda gradient: gradient)
    scheduled = torch.optim.SGD([torch.ones(1, requires_grad=True)])
    torch.optim.lr_scheduler.StepLR(scheduled, 1)
    with torch.inference_mode():
        inference = torch.ones(1)
    torn = {
        "tensors that <lambda> captured": lambda: captured,
        "a non-leaf tensor of an autograd graph": torch.ones(3, requires_grad=True) * 2,
        "Linear (TypeError)": module,
        "a tensor with hooks": hooked,
        "SGD whose step method was replaced": scheduled,
        "an inference tensor": inference,
        "a tensor with the conjugate or negative bit": torch.ones(1, dtype=torch.complex64).conj(),
        "a nested tensor": torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]),
    }
    given = (*torn.values(), object(), {1, 2}, torch.ones(1).numpy())
    copies = Copies()
    found = copies.of(given)
    module.lock.close()
    assert all(one is other for one, other in zip(found, given, strict=True))
    assert list(copies.not_copied) == ["object", "set", "ndarray"]
    assert list(copies.failed) == list(torn)
    assert all(True for value in torn.values() for _ in tensors(value)), "none stops who asks for its parts"


@needs_dgl
def test_a_graph_of_dgl_keeps_its_features_and_their_gradients():
    graph = import_dgl().graph(([0, 1], [1, 2]))
    weight = torch.ones(2, requires_grad=True)
    weight.grad = torch.full((2,), 3.0)
    graph.edata["weight"] = weight
    copied, alias = Copies().of((graph, weight))
    assert copied.edata["weight"] is alias
    assert alias.grad.tolist() == [3, 3]
    assert not shares_memory(graph, copied)
    assert weight.data_ptr() in {part.data_ptr() for part in tensors(graph)}


@pytest.mark.cuda
def test_pinned_memory_is_copied_to_pinned_memory():
    """Copies to a GPU from other memory take longer, and wait."""
    x = torch.arange(10.0).pin_memory()
    found, plain = Copies().of((x, torch.ones(3)))
    assert (found.is_pinned(), plain.is_pinned()) == (True, False)
    assert torch.equal(found, x)
    assert not shares_memory(found, x)
