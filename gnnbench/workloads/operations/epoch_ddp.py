"""A training epoch of the GCN with DistributedDataParallel; the code is in `distributed.py`."""

from typing import TYPE_CHECKING, Any

from ..annotations import Case, Graph, Tensor
from ..libraries import definitions, gcn, sampled, torch
from ..limits import HALF, Limit
from ..operation import Call, Operation
from ..spec import AUTOCAST, TRAIN
from . import epoch

if TYPE_CHECKING:
    from ..torchrun import Processes


def inputs(case: Case) -> tuple[Tensor, ...]:
    """Return what the reference gets: the initial weights, the biases, and x [N, D]."""
    weights, biases = zip(*gcn.initial_weights(gcn.widths(case.graph, case.spec.hidden)), strict=True)
    return *(one.to(case.dtype) for one in (*weights, *biases)), case.graph.x.to(case.dtype)


def run(processes: "Processes", *_: Tensor) -> float:
    """Train for one epoch in all processes; return the loss before the step."""
    return processes.epoch()


def checked(case: Case) -> Any:
    """Return a function that returns the loss before and after the first step: [2].

    It raises MismatchError if the processes have different parameters after the step.
    """

    def result(value: float, processes: "Processes", *_: Tensor) -> Tensor:
        after, difference = processes.evaluate()
        sampled.require(difference == 0, f"parameters differ by {difference:.3g} between processes")
        return case.tensor(torch.tensor((value, after), dtype=torch.float64)).detach()

    return result


def losses(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return the loss of all training nodes before and after a step of Adam; `tensors` as in `epoch`."""
    *parameters, x = tensors
    return definitions.trained(parameters, [lambda given: epoch.network_loss(graph, *given, x)])


_LIMITS = tuple(
    Limit(f"what a second process adds hardly depends on types: timed with {usual}", where, raises=False)
    for usual, where in (
        ("float32", frozenset({"float64"})),
        ("float32", frozenset({HALF})),
        ("float32", frozenset({AUTOCAST})),
        ("int64", frozenset({"int32"})),
    )
)

OPERATIONS = (
    Operation(
        "epoch_ddp",
        {
            "pyg": Call("DistributedDataParallel of GCNConv, 2 processes", limits=_LIMITS),
            "dgl": Call("DistributedDataParallel of GraphConv, 2 processes", limits=_LIMITS),
        },
        dict.fromkeys(("sparse", "torch"), "the processes do what they do on pyg and dgl"),
        directions=(TRAIN,),
        reference=losses,
        default=False,
        group="training",
        graphs=("cora",),
    ),
)
