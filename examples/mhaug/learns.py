"""Test accuracy of a GCN on the real Cora, with MH-Aug and without.

    GNNBENCH_DATA=... python examples/mhaug/learns.py run FOLDER [--seeds 10]
    python examples/mhaug/learns.py table FOLDER

Both networks have the published settings and, for each seed, the same initial weights. Both train for as many
steps as the chain accepts proposals (2,000, or those of 7,000 proposals). Every tenth step is evaluated; the
test accuracy is that of the step with the best validation accuracy. `run` continues an interrupted run.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from mhaug import chain, training, workloads
from mhaug.model import GCN
from mhaug.settings import Settings
from scipy import stats

from gnnbench.engine.ground import environment
from gnnbench.engine.ground.files import cache_folder
from gnnbench.suite.graphs.catalog import DatasetName
from gnnbench.suite.graphs.graph import Graph
from gnnbench.suite.graphs.load import load
from gnnbench.suite.graphs.published import data_folder

SETTINGS = Settings()
EVERY = 10


def accuracies(model: GCN, data: training.Data, graph: Graph) -> tuple[float, float]:
    """Return the accuracy on the validation and on the test nodes, on the whole graph without dropout."""
    model.eval()
    with torch.no_grad():
        right = model(data.features, data.structure, torch.ones(data.edges.num_edges)).argmax(1) == graph.y
    return tuple(float(right[mask].float().mean()) for mask in (graph.val_mask, graph.test_mask))


def plain(model: GCN, data: training.Data, generator: torch.Generator, steps: int) -> Iterator[int]:
    """Train on the whole graph by cross-entropy; yield the number of each step."""
    optimizer = training.optimizer_of(model, SETTINGS)
    ones = torch.ones(data.edges.num_edges)
    for step in range(1, steps + 1):
        model.train()
        optimizer.zero_grad()
        logits = model(data.features, data.structure, ones, generator=generator)
        F.cross_entropy(logits[data.train], data.y[data.train]).backward()
        optimizer.step()
        yield step


def augmented(model: GCN, data: training.Data, generator: torch.Generator) -> Iterator[int]:
    """Train on graphs that the chain accepts; yield the number of each step."""
    start, propose = workloads.prepare("optimised", "torch", data.edges, data.x, SETTINGS)
    for progress in training.train(model, data, start, propose, SETTINGS, generator):
        if progress.loss is not None:
            yield progress.accepts
    print(f"{progress.accepts} of {progress.proposals} accepted", flush=True)


def run(folder: Path, seeds: int) -> None:
    """Train the models without a result."""
    folder.mkdir(parents=True, exist_ok=True)
    graph = load(DatasetName.parse("cora"), data_folder(), cache_folder())
    edges = chain.edges_of(graph.edge_index, graph.num_nodes)
    data = training.data_of(edges, graph.x, graph.train_mask, graph.y)
    for seed in range(seeds):
        steps = training.ACCEPTS
        for arm in ("augmented", "plain"):
            file = folder / f"{arm}-{seed:02}.json"
            if file.exists():
                steps = json.loads(file.read_text())["steps"]
                continue
            torch.manual_seed(seed)
            model = GCN(graph.num_features, graph.num_classes, SETTINGS)
            generator = torch.Generator().manual_seed(seed)
            train = (
                augmented(model, data, generator)
                if arm == "augmented"
                else plain(model, data, generator, steps)
            )
            begin, best = time.perf_counter(), (0.0, 0.0)
            for steps in train:
                if steps % EVERY == 0:
                    best = max(best, accuracies(model, data, graph), key=lambda pair: pair[0])
            seconds = time.perf_counter() - begin
            file.write_text(json.dumps({"val": best[0], "test": best[1], "steps": steps, "seconds": seconds}))
            print(f"{file.name}: {best[1]:.3f} after {steps} steps, {seconds:.0f} s", flush=True)


def table(folder: Path) -> str:
    """Return both arms' accuracy and the difference, with 95 % intervals over the seeds."""
    found = {
        arm: [json.loads(file.read_text()) for file in sorted(folder.glob(f"{arm}-*.json"))]
        for arm in ("plain", "augmented")
    }
    tests = {arm: [one["test"] * 100 for one in ones] for arm, ones in found.items()}
    tests["difference"] = [b - a for a, b in zip(tests["plain"], tests["augmented"], strict=True)]
    lines = ["| | seeds | test accuracy, % | 95 % interval | range |", "|---|---|---|---|---|"]
    for name, values in tests.items():
        mean = statistics.mean(values)
        half = stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values) / len(values) ** 0.5
        lines.append(
            f"| {name} | {len(values)} | {mean:.2f} | {mean - half:.2f} to {mean + half:.2f} "
            f"| {min(values):.1f} to {max(values):.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    environment.let_idle_threads_sleep()
    if options.what == "run":
        run(options.folder, options.seeds)
    print(table(options.folder))


if __name__ == "__main__":
    main()
