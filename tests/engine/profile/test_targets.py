"""What is found in the libraries as they are installed."""

import pytest
import torch

from gnnbench.engine.profile.ranges import Ranges
from gnnbench.engine.profile.targets import LAYERS, PHASES
from gnnbench.suite import platforms
from tests.engine.profile.subjects import epoch
from tests.graphs import needs_dgl


def rows(call, targets=LAYERS):
    """Return how often each path was entered."""
    with Ranges(targets, "cpu") as ranges:
        call()
        return {" ".join(path): row[0] for path, row in ranges.times().items()}


def thrice(*names):
    return dict.fromkeys(names, 3)


PARTS = {
    "pyg": {
        **thrice("gcn_norm", "gcn_norm add_remaining_self_loops", "gcn_norm scatter", "gcn_norm pow"),
        "gcn_norm mul": 6,
        **thrice("x·W", "propagate", "propagate message", "propagate message mul"),
        **thrice("propagate aggregate", "propagate aggregate scatter", "bias"),
    },
    "sparse": {
        **thrice("gcn_norm", "gcn_norm fill_value", "gcn_norm fill_diag", "gcn_norm fill_diag set_diag"),
        **thrice("gcn_norm fill_diag set_diag remove_diag", "gcn_norm sum", "gcn_norm pow"),
        "gcn_norm mul": 6,
        **thrice("x·W", "propagate", "propagate message_and_aggregate"),
        **thrice("propagate message_and_aggregate spmm", "bias"),
    },
    "torch": thrice("x·W", "spmm", "bias"),
    "dgl": {
        "degrees": 9,  # to check them, of sources, of targets
        "pow": 6,
        "mul": 6,
        **thrice("x·W", "update_all", "update_all spmm", "bias"),
    },
}
LAYER = {"pyg": "GCNConv", "sparse": "GCNConv", "torch": "CSRConv", "dgl": "GraphConv"}


@pytest.mark.parametrize("platform", PARTS)
def test_an_epoch_is_its_phases_and_the_parts_of_its_convolutions_and_no_number_changes(make_case, platform):
    plain, ranged = (epoch(make_case("epoch", platform, "train")).pedantic.target for _ in range(2))
    losses = []
    found = rows(lambda: losses.append(ranged()))
    layer = f"forward {LAYER[platform]}"
    phases = dict.fromkeys(("zero_grad", "forward", "loss", "backward", "optimizer.step"), 1)
    parts = {f"{layer} {part}": calls for part, calls in PARTS[platform].items()}
    assert found == {**phases, layer: 3, "forward activation": 2, **parts}
    with Ranges(LAYERS, "cpu"):
        losses += [ranged() for _ in range(4)]
    assert [loss.item() for loss in losses] == [plain().item() for _ in range(5)]


def test_phases_of_any_training_loop_are_found():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = torch.nn.CrossEntropyLoss()

    def loop():
        optimizer.zero_grad()
        criterion(model(torch.ones(4, 3)), torch.zeros(4, dtype=torch.long)).backward()
        optimizer.step()
        torch.autograd.grad(torch.nn.functional.mse_loss(*model(torch.ones(2, 3))), model[0].weight)

    expected = {"zero_grad": 1, "forward": 2, "loss": 2, "backward": 2, "optimizer.step": 1}
    assert rows(loop, PHASES) == expected


@needs_dgl
def test_an_activation_that_a_layer_has_is_in_it(make_case):
    dgl = platforms.load("dgl")
    case = make_case("conv", "dgl")
    layer = dgl.dgl.nn.GraphConv(8, 8, activation=torch.nn.functional.relu)
    structure, x = dgl.layer_graph(case), case.features()
    found = rows(lambda: layer(structure, x))
    assert found["forward GraphConv activation"] == 1
