"""Contents of files that a report is made of, made without running anything."""

from dataclasses import replace

from gnnbench.engine.drive.repeat import Repeat
from gnnbench.engine.ground import codec
from gnnbench.engine.judge.comparison import Work
from gnnbench.engine.judge.verdict import Judgement
from gnnbench.engine.measure.counter_changes import CounterChange
from gnnbench.engine.measure.fingerprint.difference import Difference
from tests.run_files import content, entry

PLATFORMS = ("pyg", "sparse", "torch", "dgl")
COUNTERS = {
    "counts": {
        "operators": {"aten::mm": 2, "aten::add": 5},
        "library_calls": {"torch_sparse::spmm_sum": 1},
        "python_calls": {"Python calls": 3},
    },
    "host_reads": 1,
    "details": {"memory": {"allocated_bytes": 4096, "peak_bytes": 2048}},
}
MORE = {**COUNTERS, "counts": {**COUNTERS["counts"], "operators": {"aten::mm": 2, "aten::add": 9}}}
LIMIT = {
    "least": {"bytes": 1000, "flops": 2000},
    "rates": {"copy_bytes_per_second": 1e9, "flops_per_second": 1e10},
    "fraction": 0.25,
    "note": "",
}


def ours(operation, platform, milliseconds, *, seed=0, blocks=40, counters=COUNTERS, **spec):
    """Return the record of one of gnnbench's own benchmarks."""
    found = {"operation": operation, "direction": "forward", "platform": platform, "dtype": "float32"}
    found |= {"index_dtype": "int64", "dataset": "cora", "hidden": 256, "device": "cpu", **spec}
    name = "-".join(map(str, found.values()))
    made = entry(name, milliseconds, seed=seed, blocks=blocks, spec=found, counters=counters, limit=LIMIT)
    made["extra_info"]["gnnbench"]["measurement"]["layouts"] = "sampled"
    return made | {"fullname": f"benchmarks/test_{operation}.py::test_{operation}[{name}]"}


def family(seed=0, *, operations=3, blocks=40, factor=1.0):
    """Return a run of some operations on four platforms; `op0` on pyg takes so many times as long."""
    entries = []
    for number in range(operations):
        for place, platform in enumerate(PLATFORMS):
            slow = factor if number == place == 0 else 1.0
            counters = MORE if slow > 1 else COUNTERS
            time = (number + 1) * (1 + 0.3 * place) * slow
            entries.append(ours(f"op{number}", platform, time, seed=seed, blocks=blocks, counters=counters))
    return content(*entries)


REPEAT = codec.encode(
    Repeat("git:main", ".", ("git:main", "git:HEAD"), pytest=("-m", "core"), places=("benchmarks",))
)
"""What commands need, of a saved result."""


def work(*functions):
    """Return what changed, as it is saved: functions of a module, and a counter."""
    changed = Difference(tuple(f"suite:{name}" for name in functions))
    return codec.encode(Work(changed, (CounterChange("aten::mm", 1, 2),)))


def row(name, verdict, *, ratio=1.2, **more):
    judgement = Judgement(verdict, "a reason", ratio, 1.1, 1.3, 1.15, 1.25, 0.05)
    found = codec.encode(replace(judgement, base_processes=5, head_processes=1))
    return {"fullname": name, "judgement": found, "notes": ["counters: +1 aten::mm"], **more}


def compared(*rows, **more):
    """Return what a run file has of `--benchmark-compare`."""
    return {
        "command": "compare",
        "base": {"text": "record 0001"},
        "head": {"text": ""},
        "comparison": {"rows": rows},
        "thresholds": {"effect": 0.03, "family_level": 0.99, "own_level": 0.95},
        "repeat": REPEAT,
        "version": 1,
        **more,
    }


def judged():
    """Return a run of which one benchmark of twelve is slower."""
    found = family(9, factor=1.5)
    first, *others = (one["fullname"] for one in found["benchmarks"])
    rows = [row(first, "slower", ratio=1.49, notes=["counters: +4 aten::add"])]
    rows += [row(name, "same", ratio=1.0, notes=[]) for name in others]
    found["gnnbench"]["compared"] = compared(*rows)
    return found
