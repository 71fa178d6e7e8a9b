"""How often do the costs of a call differ between two sides with the same code?

    python experiments/same_code/witness.py run FOLDER --name quiet [--pairs 8] [--busy 0] [-- PYTEST ARGS]
    python experiments/same_code/witness.py table FOLDER

Each pair of fresh processes takes the fingerprints of the suite that the arguments name, in the current
folder and in the last commit, and measures three times what a call costs on each side. FOLDER gets a file of
costs for each name. The table counts fingerprints that differ, and benchmarks that the second witness would
have timed, and has the ratios of the first costs. It also has a simulation: the same costs are judged with
other limits, and with a head that takes half, twice or ten times the time. With `--outputs`, the outputs of
both sides are compared as if their code differed, and counted: none may differ.
"""

import argparse
import json
import math
import multiprocessing
import os
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gnnbench.engine.ground import codec
from gnnbench.engine.interfaces import Listener
from gnnbench.engine.judge.trial import Trial
from gnnbench.engine.judge.visit import Inspections
from gnnbench.engine.measure import cost
from gnnbench.engine.measure.cost import Cost
from gnnbench.engine.process.outputs import Outputs
from gnnbench.engine.process.pairs import Pairs
from gnnbench.engine.process.plan import PairSettings, Plan
from gnnbench.engine.process.turns import HeldBenchmark
from gnnbench.engine.process.variants import prepare, variant

_ASKS = 3
_LIMITS = 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.5, 3.0
_FACTORS = 0.5, 2.0, 10.0


class Lines(Listener):
    """Writes lines to stderr, without progress."""

    def say(self, text: str) -> None:
        """Write a line."""
        print(text, file=sys.stderr, flush=True)


def burn() -> None:
    """Keep a core busy."""
    while True:
        pass


def run(folder: Path, name: str, pairs: int, busy: int, arguments: Sequence[str], *, outputs: bool) -> None:
    """Inspect the suite in pairs of processes next to busy loops, and save what calls cost."""
    costs: list[Any] = []

    def measured(benchmark: HeldBenchmark, inspections: Inspections) -> Inspections:
        if outputs:
            both = Outputs(benchmark._processes, benchmark._trial.name, benchmark._ask_sides)  # noqa: SLF001
            return replace(inspections, results=both.agreement())
        costs.append([[side["cost"] for side in benchmark._costs(number)] for number in range(_ASKS)])  # noqa: SLF001
        return inspections

    HeldBenchmark._with_costs = measured  # type: ignore[method-assign]  # noqa: SLF001
    loops = [multiprocessing.Process(target=burn, daemon=True) for _ in range(busy)]
    for loop in loops:
        loop.start()
    setting = Plan(
        arguments=arguments,
        folder=Path.cwd(),
        timeout_seconds=240,
        seed=secrets.randbits(32),
        results=outputs,
    )
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.jsonl"
    sides = map(variant.parse, ("git:HEAD", "."))
    with prepare.both(*sides, Path.cwd(), Lines()) as (base, head), Pairs(setting, Lines()) as made:
        for number in range(pairs):
            with made.start(PairSettings(base, head, untimed=True)) as workers, file.open("a") as kept:
                for test in workers.suite.benchmarks:
                    costs.clear()
                    found = workers.inspect(Trial(test))
                    if isinstance(found, Inspections):
                        row = {"id": test, "changed": found.status, "why": str(found.work.changed or "")}
                        row["outputs"] = codec.encode(found.results)
                        kept.write(f"{json.dumps({**row, 'asks': costs[0] if costs else []})}\n")
                    if workers.broken:
                        break
            print(f"pair {number + 1}: {sum(1 for _ in file.open())} inspections", flush=True)
    for loop in loops:
        loop.terminate()


def judged(asks: Sequence[Sequence[Cost]], change: Callable[[Cost, Cost, bool], object]) -> int:
    """Return after how many measurements the costs agree; 0 if they never do."""
    base, head = asks[0]
    for number, (one, other) in enumerate(asks, 1):
        base, head, is_strict = base.lower(one), head.lower(other), number < len(asks)
        if not change(base, head, is_strict) or not change(one, other, is_strict):
            return number
    return 0


def slower(one: Cost, factor: float) -> Cost:
    """Return the cost of a call that takes `factor` times the CPU time."""
    return Cost(one.steps, one.seconds and one.seconds * factor)


def table(folder: Path) -> None:
    """Print the tables of all files."""
    for file in sorted(folder.glob("*.jsonl")):
        rows = [json.loads(line) for line in file.open()]
        asked = [
            [[codec.decode(one, Cost) for one in ask] for ask in row["asks"]]
            for row in rows
            if row["asks"] and all(all(ask) for ask in row["asks"])
        ]
        status = {kind: sum(row["changed"] == kind for row in rows) for kind in ("changed", "unknown")}
        ends = [judged(asks, lambda a, b, is_strict: a.change(b, is_strict=is_strict)) for asks in asked]
        timed = sum(base.seconds is None or head.seconds is None for (base, head), *_ in asked)
        print(f"{file.stem}: {len(rows)} inspections, {status}, without CPU time {timed}")
        compared = [row["outputs"] for row in rows if row.get("outputs")]
        if compared:
            print(f"  outputs: {Counter(agreement['status'] for agreement in compared)}")
            reasons = Counter(agreement["reason"] or agreement["reservation"] for agreement in compared)
            print(*(f"    {count} times: {reason}" for reason, count in reasons.most_common()), sep="\n")
            continue
        print(f"  agree at once {ends.count(1)}, later {len(ends) - ends.count(1) - ends.count(0)}", end="")
        print(f", to be timed {ends.count(0)}")
        for row, end in zip((row for row in rows if row["asks"]), ends, strict=False):
            if not end:
                print(f"    {row['id']}: {json.dumps(row['asks'])}")
        both = [(a, b) for (base, head), *_ in asked if (a := base.steps) and (b := head.steps)]
        steps = sorted(abs(a - b) for a, b in both)
        print(f"  steps: {sum(map(bool, steps))} of {len(steps)} differ: {steps[-5:]}")
        for title, is_short in (("below 10 µs", True), ("others", False)):
            simulate(title, [asks for asks in asked if _is_short(asks) is is_short])


def _is_short(asks: Sequence[Sequence[Cost]]) -> bool | None:
    seconds = [one.seconds for ask in asks for one in ask]
    return None if None in seconds else min(filter(None, seconds)) < cost.SHORT_SECONDS


def simulate(title: str, asked: Sequence[Sequence[Sequence[Cost]]]) -> None:
    """Print the ratios of CPU times, and how often they differ with each limit, factor by factor."""
    ratios = sorted(
        max(a / b, b / a) for (one, two), *_ in asked if (a := one.seconds) and (b := two.seconds)
    )
    if not ratios:
        return
    shares = (0.5, 0.9, 0.95, 0.99, 1.0)
    shown = [f"{ratios[min(int(share * len(ratios)), len(ratios) - 1)]:.2f}" for share in shares]
    print(f"  {title}: {len(ratios)} ratios of first answers, quantiles {shares}: {shown}")
    for limit in _LIMITS:

        def change(base: Cost, head: Cost, is_strict: bool, limit: float = limit) -> bool:
            a, b = base.seconds or 1.0, head.seconds or 1.0
            return max(a / b, b / a) > (math.sqrt(limit) if is_strict else limit)

        differ = [
            sum(not judged([[a, slower(b, factor)] for a, b in asks], change) for asks in asked)
            for factor in (1.0, *_FACTORS)
        ]
        of = len(asked)
        print(f"    limit {limit}: differ {differ[0]} of {of}; with {_FACTORS} of the time {differ[1:]}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", default="quiet")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--outputs", action="store_true")
    parser.add_argument("arguments", nargs="*", metavar="PYTEST ARGS")
    options = parser.parse_intermixed_args()
    folder = options.folder.resolve()
    if options.what == "table":
        table(folder)
    else:
        os.environ.setdefault("GNNBENCH_CACHE", str(folder / "cache"))
        run(folder, options.name, options.pairs, options.busy, options.arguments, outputs=options.outputs)


if __name__ == "__main__":
    main()
