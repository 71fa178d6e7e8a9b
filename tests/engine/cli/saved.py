"""Saved results of ab, made without timing anything."""

from dataclasses import replace

from gnnbench.engine.drive.result import Result, Side
from gnnbench.engine.ground.codec import as_text
from gnnbench.engine.ground.environment import Gpu
from gnnbench.engine.judge.comparison import Compared, Comparison, PairCounts, Work
from gnnbench.engine.judge.verdict import Judgement, Thresholds
from gnnbench.engine.measure.counter_changes import CounterChange
from tests.run_files import ENVIRONMENT

SLOWER = Judgement("slower", "it is", 1.3, 1.2, 1.4, 1.25, 1.35, 0.04)
COUNTS = PairCounts(5, 0, 9, 9, 1.0)
SAME = Judgement("same", "so it is", 1.0, 0.98, 1.02, 0.99, 1.01, 0.02)


def result(*, gpu=None, benchmarks=None, base="a" * 40, head=None, **changes):
    """Return a result of ab: two benchmarks, of which the first is slower, or with these verdicts."""
    sides = Side("git:main", (base,)), Side(".", (head,) if head else ())
    found = benchmarks or {"test_a.py::b[<b>|@x]": SLOWER, "test_a.py::c": SAME}
    rows = [Compared(test, one, None, counts=COUNTS) for test, one in found.items()]
    work = Work(counters=(CounterChange("aten::mm", 1, 2),))
    rows[0] = replace(rows[0], work=work, notes=work.notes())
    here = replace(ENVIRONMENT, gpu=gpu and Gpu(gpu, "570.1"))
    return Result("ab", *sides, Comparison(rows), Thresholds(0.03), here, 20.0, **changes)


def flat(row):
    """Return the fields of a saved row on one level."""
    others = {name: row[name] for name in ("notes", "memory", "results", "allowed", "seconds")}
    return {**row["judgement"], **row["work"], **(row["counts"] or {}), **others}


def rows(content):
    return {row["fullname"]: flat(row) for row in content["comparison"]["rows"]}


def ab(folder, name="ab.json", **changes):
    path = folder / name
    path.write_text(as_text(result(**changes)))
    return str(path)
