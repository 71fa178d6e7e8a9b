"""Are the mechanisms of published regressions found, if they are planted in a copy of what a benchmark calls?

    python experiments/known/planted.py run [FOLDER] [--budget 45]    # continues an interrupted run
    python experiments/known/planted.py table [FOLDER]

Each is a change of a line in a clone of this repository, whose two commits `gnnbench ab` compares. FOLDER,
.benchmarks/planted if not given, keeps each comparison.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from gnnbench.engine.drive import result
from gnnbench.engine.ground import units

_ROOT = Path(__file__).parents[2]
_GNNBENCH = (sys.executable, "-c", "import sys; from gnnbench.engine.cli.main import main; sys.exit(main())")
_OPERATIONS = "gnnbench/suite/operations"
_COMPILED = ("gnnbench/suite/operations/compiled.py", "torch.compile(on_pyg.apply, fullgraph=True)")
_NOT_COMPILED = ("not compiled", *_COMPILED, 'torch.compile(on_pyg.apply, backend="eager")', "test_models.py")
_AUTOCAST = ("--gnn-dataset", "cora", "--gnn-dtype", "autocast")
_FORWARD = "and torch and forward and not backward"
_TWICE = (
    "the float16 product is computed twice",
    f"{_OPERATIONS}/layers.py",
    "lambda _, weight, x: x @ weight,",
    "lambda _, weight, x: (x @ weight, x @ weight)[1],",
    "test_linear.py",
    f"linear {_FORWARD}",
)
_SUM = f"{_OPERATIONS}/scatter.py", "index_add_(0, to.indices, messages)"
_LOADER = f"{_OPERATIONS}/graph_loader.py"


class Planted(NamedTuple):
    """A mechanism, the code in which it is planted, and the benchmark that should find it."""

    mechanism: str
    file: str
    before: str
    after: str
    test: str
    name: str
    """Expression for pytest's -k."""
    options: tuple[str, ...] = ("--gnn-dataset", "cora")


PLANTED = {
    "pytorch#117740": Planted(*_NOT_COMPILED, "gcn_inference_1_thread and compiled"),
    "pytorch#109703": Planted(*_NOT_COMPILED, "gin_inference and compiled and not thread"),
    "pytorch#114879": Planted(*_NOT_COMPILED, "sage_inference and compiled and not thread", _AUTOCAST),
    "pytorch#123502": Planted(*_NOT_COMPILED, "gcn_inference_1_thread and compiled", _AUTOCAST),
    "pytorch#135177": Planted(
        "a conversion to float64 and back, in autocast",
        *_COMPILED,
        "torch.compile(lambda graph, layer, x: layer(x.double().sin().asin().float(), graph))",
        "test_models.py",
        "gcn_inference and compiled and not thread",
        _AUTOCAST,
    ),
    "pytorch#148636": Planted(*_NOT_COMPILED, "gin_training and compiled and not thread"),
    "torch-xpu-ops#2590": Planted(*_NOT_COMPILED, "edge_cnn_inference and compiled and not thread"),
    "pytorch#193951": Planted(*_TWICE, ("--gnn-dataset", "rmat:8", "--gnn-dtype", "float16")),
    "pytorch#162683": Planted(*_TWICE, ("--gnn-dataset", "rmat:5", "--gnn-dtype", "float16")),
    "pytorch_scatter#279": Planted(
        "float16 sums of many messages to few nodes, in float32",
        *_SUM,
        "float().index_add_(0, to.indices, messages.float()).to(messages.dtype)",
        "test_scatter.py",
        f"scatter_sum {_FORWARD}",
        ("--gnn-dataset", "hub:12", "--gnn-dtype", "float16"),
    ),
    "pytorch#189283": Planted(
        "an allocation more for tiny sums",
        *_SUM,
        "index_add_(0, to.indices, messages.clone())",
        "test_scatter.py",
        f"scatter_sum {_FORWARD}",
        ("--gnn-dataset", "rmat:4", "--gnn-hidden", "8"),
    ),
    "pytorch#36120": Planted(
        "sparse gradients of twice as many lookups are added up",
        f"{_OPERATIONS}/layers.py",
        "functional.embedding(source, table, sparse=True) *",
        "0.5 * (functional.embedding(source, table, sparse=True)"
        " + functional.embedding(source, table, sparse=True)) *",
        "test_embedding.py",
        "embedding",
    ),
    "pyg#10532": Planted(
        "the host reads a size more",
        f"{_OPERATIONS}/subgraph.py",
        "targets, sources = chosen.nodes\n    return utils",
        "targets, sources = chosen.nodes\n    num_nodes = max(num_nodes, int(edge_index.max()))\n"
        "    return utils",
        "test_subgraph.py",
        "bipartite and pyg and forward and not backward",
    ),
    "pyg#3398": Planted(
        "one worker less",
        _LOADER,
        "num_workers=workers(case)))",
        "num_workers=max(workers(case) - 1, 0)))",
        "test_graph_loader.py",
        "2_workers and pyg",
        (),
    ),
    "pyg#7883": Planted(
        "four tensors more of each batch go through the workers' queue",
        _LOADER,
        "batch_size=size(case.graph),",
        "batch_size=size(case.graph), follow_batch=['x', 'edge_attr'],",
        "test_graph_loader.py",
        "2_workers and pyg",
        (),
    ),
    "pyg#8232": Planted(
        "no workers",
        f"{_OPERATIONS}/hetero_loader.py",
        "num_workers=workers(case)",
        "num_workers=0 * workers(case)",
        "test_hetero_loader.py",
        "hgt_loader_2_workers",
        (),
    ),
    "heterogeneous NeighborLoader": Planted(
        "each batch is converted to a homogeneous graph, which is not used",
        f"{_OPERATIONS}/hetero_loader.py",
        "input_nodes=(",
        "transform=lambda batch: (batch.to_homogeneous(), batch)[1],\n        input_nodes=(",
        "test_hetero_loader.py",
        "hetero_loader_0_workers and pyg",
        (),
    ),
    "LinkNeighborLoader": Planted(
        "each batch is converted to float64 and back",
        f"{_OPERATIONS}/neighbor_loader.py",
        'neg_sampling="binary",',
        'neg_sampling="binary",\n'
        "        transform=lambda batch: batch.apply(lambda part: part.double().to(part.dtype)),",
        "test_link_loader.py",
        "link_loader_0_workers and pyg",
        (),
    ),
    "OnDiskDataset": Planted(
        "each graph is read twice",
        _LOADER,
        "        def serialize",
        "        def __getitems__(self, indices: list[int]) -> Any:\n"
        "            return (self.multi_get(indices), self.multi_get(indices))[0]\n\n"
        "        def serialize",
        "test_disk_loader.py",
        "disk_loader_0_workers",
        (),
    ),
    "sampling with replacement": Planted(
        "a copy of the columns in each call",
        f"{_OPERATIONS}/neighbors.py",
        "pointer, columns, batch.nodes",
        "pointer, columns.clone(), batch.nodes",
        "test_neighbors.py",
        "sample_neighbors_replaced and sparse",
        (),
    ),
}


def _git(tree: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=gnnbench", "-c", "user.email=gnnbench@example.org", *words]
    subprocess.run(command, cwd=tree, check=True)


def run(folder: Path, budget: str) -> None:
    """Plant the mechanisms without a result, and compare the commits."""
    folder.mkdir(parents=True, exist_ok=True)
    for thread, planted in PLANTED.items():
        file, unfinished = (folder.resolve() / f"{thread}.{end}" for end in ("json", "unfinished"))
        if file.exists():
            continue
        with tempfile.TemporaryDirectory() as scratch:
            tree = Path(scratch, "gnnbench")
            _git(_ROOT, "clone", "--quiet", "--shared", ".", str(tree))
            changed = tree / planted.file
            source = changed.read_text(encoding="utf-8")
            if planted.before not in source:
                raise SystemExit(f"{thread}: {planted.file} has no '{planted.before}'")
            changed.write_text(source.replace(planted.before, planted.after), encoding="utf-8")
            _git(tree, "commit", "--quiet", "--all", "--message", thread)
            suite = (f"benchmarks/{planted.test}", "--gnn-all", "-k", planted.name, *planted.options)
            command = (*_GNNBENCH, "ab", "git:HEAD^", "git:HEAD", "--budget", budget, "--json", unfinished)
            subprocess.run([*command, "--", *suite], cwd=tree, check=False)
        if unfinished.exists():
            unfinished.rename(file)


def table(folder: Path) -> str:
    """Return a row for each mechanism that was compared."""
    lines = ["| thread | planted | benchmark | verdict | ratio | counts |", "|---" * 6 + "|"]
    for thread, planted in PLANTED.items():
        file = folder / f"{thread}.json"
        for row in result.read(file).rows if file.exists() else ():
            found, ratio = row.judgement, ""
            if found.ratio and found.low:
                ratio = f"{found.ratio:.2f}x ({units.interval(found.low, found.high)})"
            name = row.fullname.rpartition("[")[2].rstrip("]")
            cells = (thread, planted.mechanism, name, found.verdict, ratio, "; ".join(row.notes))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder", type=Path, nargs="?", default=_ROOT / ".benchmarks" / "planted")
    parser.add_argument("--budget", default="45", help="seconds for each benchmark")
    options = parser.parse_args()
    if options.what == "run":
        run(options.folder, options.budget)
    print(table(options.folder))


if __name__ == "__main__":
    main()
