"""Checks that the parts of a profile sum to the time of an epoch without profiling.

    GNNBENCH_DATA=... python experiments/profile/whole.py [--dataset cora] [--repeats 40] [--threads 1]

Prints two ratios to the time of the epoch without ranges: the sum of the self times of all named parts, and
the time of the epoch with ranges. Times are medians of interleaved repeats.
"""

import argparse
import statistics
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch

from gnnbench import environment
from gnnbench.files import cache_folder
from gnnbench.measure.seam import Pedantic
from gnnbench.profile import tree
from gnnbench.profile.subject import Subject
from gnnbench.workloads import gcn, platforms, training
from gnnbench.workloads.case import Case
from gnnbench.workloads.graphs.catalog import DatasetName
from gnnbench.workloads.graphs.load import load
from gnnbench.workloads.graphs.locate import data_folder
from gnnbench.workloads.spec import Spec

KINDS = {"phases": tree.phases, "layers": tree.layers}


def parts_ns(rows: list[dict[str, Any]]) -> float:
    """Return the median over repeats of the sum of self times."""
    return statistics.median(map(sum, zip(*(row["self_ns"] for row in rows), strict=True)))


def main() -> None:
    """Read the command line, profile each platform's epoch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, help="of PyTorch; with 1, a busy machine disturbs less")
    parser.add_argument("--tables", action="store_true", help="print the profiles, too")
    options = parser.parse_args()
    environment.let_idle_threads_sleep()
    if options.threads:
        torch.set_num_threads(options.threads)
    warnings.simplefilter("ignore")
    graph = load(DatasetName.parse(options.dataset), data_folder(), cache_folder())
    weights = gcn.initial_weights(gcn.widths(graph, options.hidden))
    for platform in platforms.PLATFORMS:
        spec = Spec(
            "epoch", "train", platform, "float32", "int64", graph.name, options.hidden, options.device
        )
        t = training.prepare(Case(spec, graph), platforms.load(platform), weights)
        epoch = Pedantic(training.epoch, (t.model, t.structure, t.x, t.train, t.y, t.optimizer), {})
        subject = Subject(epoch, options.device, options.repeats)
        for kind, module in KINDS.items():
            with tempfile.TemporaryDirectory() as folder:
                section = module.take(subject, Path(folder))
            plain_ns = statistics.median(section["plain_ns"])
            print(
                f"{platform:7}{kind:7} parts {parts_ns(section['rows'][1:]) / plain_ns:.3f} of the epoch, "
                f"with the rest {tree.overhead(section):.3f}; the epoch {plain_ns / 1e6:.1f} ms",
                flush=True,
            )
            if options.tables:
                print(module.table(section))


if __name__ == "__main__":
    main()
