"""Training of the GCN in one of several processes of torchrun: each has the graph and a part of the nodes.

The first process reads commands from stdin, a line each, and writes a line of JSON for each to stdout. When
stdin ends, all processes end.
"""

import json
import sys
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from . import gcn, platforms, training
from .case import Case
from .graphs.graph import Graph
from .spec import Spec

COMMANDS = ("end", "epoch", "evaluate")
_LONGEST_PAUSE = timedelta(hours=1)
"""Between two commands, in which the other processes wait for the first one."""
_GRAPH = ("name", "synthetic", "edge_index", "x", "y", "num_classes", "train_mask", "val_mask", "test_mask")


def write(case: Case, path: Path) -> None:
    """Write a case for the processes."""
    graph = {name: getattr(case.graph, name) for name in _GRAPH}
    torch.save({"spec": asdict(case.spec), "graph": graph}, path)


def read(path: Path) -> Case:
    """Read a case that `write` wrote."""
    found = torch.load(path)
    return Case(Spec(**found["spec"]), Graph(**found["graph"]))


def main() -> None:
    """Do commands until there are no more; the argument is the path of a case."""
    case = read(Path(sys.argv[1]))
    on_gpu = case.spec.device == "cuda"
    dist.init_process_group("nccl" if on_gpu else "gloo", timeout=_LONGEST_PAUSE)
    rank = dist.get_rank()
    if on_gpu:
        torch.cuda.set_device(rank)
    try:
        _obey(case, rank)
    finally:
        dist.destroy_process_group()


def _obey(case: Case, rank: int) -> None:
    """Do the commands. The trainer is gone before the group of processes is: its end waits for the group."""
    trainer = _Trainer(case)
    command = torch.zeros(1, dtype=torch.int64, device=case.device)
    while True:
        if rank == 0:
            command[0] = COMMANDS.index(sys.stdin.readline().strip() or "end")
        dist.broadcast(command, 0)
        name = COMMANDS[int(command)]
        if name == "end":
            break
        reply = getattr(trainer, name)()
        if rank == 0:
            sys.stdout.write(f"{json.dumps(reply)}\n")
            sys.stdout.flush()


class _Trainer:
    """A process's copy of the network and its part of the training nodes."""

    def __init__(self, case: Case) -> None:
        module = platforms.load(case.spec.platform)
        weights = gcn.initial_weights(gcn.widths(case.graph, case.spec.hidden))
        self._all = training.prepare(case, module, weights)
        self._model: nn.Module = nn.parallel.DistributedDataParallel(self._all.model)
        rank, self._processes = dist.get_rank(), dist.get_world_size()
        self._own = self._all.train[rank :: self._processes], self._all.y[rank :: self._processes]

    def epoch(self) -> dict[str, Any]:
        """Train for one epoch; return the mean loss before the step."""
        t = self._all
        t.optimizer.zero_grad(set_to_none=True)
        train, y = self._own
        # Gradients are averaged over processes, which have one node more or less.
        share = len(train) * self._processes / len(t.train)
        value = training.loss(self._model(t.structure, t.x), train, y) * share
        value.backward()
        t.optimizer.step()
        total = value.detach().clone()
        dist.all_reduce(total)
        return {"loss": total.item() / self._processes}

    @torch.no_grad()
    def evaluate(self) -> dict[str, Any]:
        """Return the loss of all training nodes, and how much parameters differ between processes."""
        t = self._all
        parameters = torch.cat([one.flatten() for one in t.model.parameters()])
        least, most = parameters.clone(), parameters
        dist.all_reduce(least, dist.ReduceOp.MIN)
        dist.all_reduce(most, dist.ReduceOp.MAX)
        value = training.loss(t.model(t.structure, t.x), t.train, t.y)
        return {"loss": value.item(), "difference": (most - least).max().item()}
