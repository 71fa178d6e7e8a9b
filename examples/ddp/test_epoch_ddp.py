"""An epoch of a GCN with DistributedDataParallel, in two processes of torchrun, each with half of the nodes.

pytest examples/ddp --gnn-dataset cora

Gradients are averaged over the processes by gloo. The processes start once, before the timing.
"""

import subprocess
import sys

import pytest

RATE = 0.1


@pytest.mark.whole_call("two processes of torchrun train")
@pytest.mark.operations("epoch_ddp", platforms=["pyg"], directions=["train"])
def test_epoch_ddp(case, measure, tmp_path):
    if (case.spec.dtype, case.spec.device) != ("float32", "cpu"):
        pytest.skip("it trains in float32 on the CPU")
    import torch

    @torch.enable_grad()
    def losses(graph):
        """Return the loss before and after a step, as a single process has them in float64."""
        network, edges, x = (
            model(graph.x.shape[1], graph.num_classes).double(),
            graph.edge_index,
            graph.x.double(),
        )
        optimizer = torch.optim.SGD(network.parameters(), RATE)
        values = []
        for _ in range(2):
            optimizer.zero_grad()
            logits = network(x, edges)[graph.train_mask]
            values.append(torch.nn.functional.cross_entropy(logits, graph.y[graph.train_mask]))
            values[-1].backward()
            optimizer.step()
        return torch.stack(values).detach()

    graph = case.graph
    names = ("x", "edge_index", "y", "train_mask", "num_classes")
    torch.save({name: getattr(graph, name) for name in names}, tmp_path / "graph.pt")
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    with subprocess.Popen(  # noqa: S603
        [*words, __file__, str(tmp_path / "graph.pt")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as torchrun:  # at its end it closes stdin, which ends the processes

        def epoch():
            print(file=torchrun.stdin, flush=True)
            return torch.tensor(float(torchrun.stdout.readline()))

        # The loss after the step shows whether gradients are averaged.
        measure(epoch, reference=losses, result=lambda first: torch.stack((first, epoch())))


def model(features, classes):
    import torch
    from torch_geometric.nn import GCN

    torch.manual_seed(0)
    return GCN(features, 16, num_layers=2, out_channels=classes)


def main(path):
    """Train in one of the processes: an epoch for each line that the first one reads."""
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    rank, count = dist.get_rank(), dist.get_world_size()
    graph = torch.load(path)
    x, edges, train = graph["x"], graph["edge_index"], graph["train_mask"].nonzero().flatten()
    own = train[rank::count]
    network = torch.nn.parallel.DistributedDataParallel(model(x.shape[1], graph["num_classes"]))
    optimizer = torch.optim.SGD(network.parameters(), RATE)
    going = torch.ones(1)
    while True:
        if rank == 0:
            going[0] = bool(sys.stdin.readline())
        dist.broadcast(going, 0)
        if not going:
            break
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(x, edges)[own], graph["y"][own])
        loss = loss * len(own) * count / len(train)  # a process may have one node more
        loss.backward()
        optimizer.step()
        total = loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            print(total.item() / count, flush=True)
    del network  # before the group of processes, for whose end it waits
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
