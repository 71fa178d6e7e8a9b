"""The bytes that a call takes and gives, against the least work."""

import torch
from torch import Tensor, nn

from gnnbench.engine.measure.copies import strided_parts
from gnnbench.suite.backward import leaves
from gnnbench.suite.roofline import least
from gnnbench.suite.spec import TRAIN


def require_least_work(timed, output):
    """Compare a call that was made with the model, if the operation has one."""
    case = timed.case
    model, name = least(case), case.spec.operation
    if model is None or (name.startswith(("epoch", "mh_")) and case.spec.direction != TRAIN):
        return
    if case.spec.direction == TRAIN:
        # Parameters and moments are written too, and the gradients stay.
        network, optimizer = timed.inputs[0], timed.inputs[-1]
        moments = [moment for state in optimizer.state.values() for moment in state.values()]
        gradients = [parameter.grad for parameter in network.parameters()]
        moved = (*timed.inputs, *moments, network, *moments, *gradients, output)
        most = 1.7
    else:
        # Beyond the model: values of ones, edge lists where a row pointer is smaller, columns for degrees,
        # and int64 that PyG makes of int32 when it adds self-loops.
        gradients = [leaf.grad for leaf in leaves(timed.inputs) if timed.has_gradients]
        inputs = timed.inputs[:1] if name == "degree_norm" else timed.inputs  # the other says which dtype
        moved = (*inputs, output, *gradients)
        most = 7 if name.startswith("degree") else 2.2
    bytes_moved = sum(array.numel() * array.itemsize for item in moved for array in arrays(item))
    told = f"least work: {model.bytes} bytes; inputs, output and gradients have {bytes_moved}"
    assert model.bytes <= bytes_moved, told
    assert bytes_moved < most * model.bytes or case.spec.dtype == "float64", told  # whose ones are larger


def arrays(item):
    """Yield the arrays of what a kernel takes or gives: of a structure in two forms, those of the smaller."""
    if isinstance(item, Tensor) and item.layout != torch.strided:
        yield from strided_parts(item)
    elif isinstance(item, Tensor):
        yield item
    elif isinstance(item, (tuple, list, dict)):
        for part in item.values() if isinstance(item, dict) else item:
            yield from arrays(part)
    elif isinstance(item, nn.Module):
        yield from item.parameters()
        for name in ("_cached_edge_index", "_cached_adj_t"):
            yield from arrays(getattr(item, name, None))
    elif hasattr(item, "storage"):
        row, column, value = item.coo()
        yield from (min(row, item.storage.rowptr(), key=len), column)
        yield from arrays(value)
    elif hasattr(item, "adj_tensors"):
        yield from dgl_arrays(item)


def dgl_arrays(graph):
    created = graph.formats()["created"]
    for relation in graph.canonical_etypes:
        if len(created) == 1:
            yield from graph.adj_tensors(created[0], etype=relation)
        else:
            pointer, column, _ = graph.adj_tensors("csr", etype=relation)
            yield from (min(pointer, graph.edges(etype=relation)[0], key=len), column)
        data = graph.edges[relation].data
        yield from (data[name] for name in data)
