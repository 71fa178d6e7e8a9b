"""False positives, power and duration of `gnnbench ab` on simulated pairs of processes.

    python experiments/ab/simulate.py [--runs 2000] [--power 300] [--keep FILE.jsonl] [--out FILE.json]

The schedule and the decision rule are the real ones. Rounds have lognormal noise of 10 %, autocorrelated
(AR(1), 0.5); 2 % of them are spikes of 3x. On both sides the speed drifts by ±20 % within a minute, with a
random phase. In a quarter of the benchmarks, half of the blocks are 2x slower (layouts). Each benchmark's log
ratio varies by 1 % between pairs; a process is 25x slower with probability 5 %. A pair takes 3 seconds to
start; a block is ten rounds of a millisecond. Twenty benchmarks have 60 seconds each.

FEW are separate runs of few benchmarks: some whose pairs vary more, as on some real days, and some in which
part of the processes are 6.5x faster. A real gather took 2.9 ms where the allocator had kept its pages, and
19 ms elsewhere. In others a call takes 0.2 s: a block is one call and an untimed one, and a visit has five
turns or more. In the last, a pair takes 25 s to start, and one of nine benchmarks is timed before the others.

Finished runs are kept in FILE.jsonl, one per line, and not repeated.
"""

import argparse
import functools
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from gnnbench.engine.judge.schedule import PairPlan, Schedule
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.judge.visit import PairTimes, Visit
from gnnbench.engine.measure.clock import FEWEST_BLOCKS

Array = NDArray[np.float64]
Key = tuple[str, float, int]
"""Key of a run: kind, effect, seed."""

BENCHMARKS, TWO_MODES = 20, 5
ROUNDS, ROUND_NS = 10, 1e6
SIGMA, AUTOCORRELATION, SPIKES, SPIKE = 0.1, 0.5, 0.02, 3.0
DRIFT, PERIOD = 0.2, 60.0
PAIR_SD, BROKEN, BROKEN_FACTOR = 0.01, 0.05, 25.0
MODES_APART = 6.5
SLOW_SET_UP = 1.0
"""Seconds that the set-up of a benchmark with slow calls takes."""
START, BUDGET = 3.0, 60.0
EFFECTS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06)
THRESHOLDS = Thresholds(effect=0.03)
NAMES = [f"{'two' if number < TWO_MODES else 'one'}-{number}" for number in range(BENCHMARKS)]
PLANTED = {"two": "two-2", "one": "one-14"}
"""The benchmark that is slowed down, by kind."""


class Few(NamedTuple):
    """A run of few benchmarks."""

    benchmarks: int
    pair_sd: float
    start: float
    budget: float
    effect: float
    """Slowdown of the first benchmark, in runs that should find it."""
    fast_share: float = 0.0
    """Share of the processes of each benchmark that are in the faster mode."""
    slow_seconds: float = 0.0
    """Seconds of a slow call. If 0, blocks are ten rounds of a millisecond."""
    likely: int = 0
    """Number of benchmarks, from the first on, whose counters say that they are slower."""


FEW = {
    "one, very noisy": Few(1, 0.26, 6.0, 60.0, 0.7),
    "one, noisy": Few(1, 0.05, 6.0, 60.0, 0.15),
    "four, noisy, in little time": Few(4, 0.05, 3.7, 10.0, 0.3),
    "four, a process in fifty is fast": Few(4, 0.01, 3.7, 60.0, 0.05, 0.02),
    "four, three processes in ten are fast": Few(4, 0.01, 3.7, 60.0, 0.05, 0.3),
    "one, slow calls": Few(1, 0.01, 3.0, 180.0, 0.2, slow_seconds=0.2),
    "four, slow calls": Few(4, 0.01, 3.0, 180.0, 0.2, slow_seconds=0.2),
    "nine, one likely slower, in little time": Few(9, 0.01, 25.0, 35.0, 0.1, likely=1),
}


def rounds(random: np.random.Generator, blocks: int) -> Array:
    """Return the times of rounds [blocks, ROUNDS]; the true time is 1."""
    innovations = random.normal(0, SIGMA * np.sqrt(1 - AUTOCORRELATION**2), (blocks, ROUNDS))
    innovations[:, 0] = random.normal(0, SIGMA, blocks)
    logs = signal.lfilter([1], [1, -AUTOCORRELATION], innovations)
    return np.exp(logs) * np.where(random.random(logs.shape) < SPIKES, SPIKE, 1.0)


@functools.cache
def medians() -> Array:
    """Return the medians of simulated blocks [200000], from which those of other blocks are drawn."""
    return np.asarray(np.median(rounds(np.random.default_rng(0), 200_000), axis=1))


class Machine:
    """A simulated machine that runs pairs of processes; its clock is simulated too."""

    def __init__(
        self,
        random: np.random.Generator,
        effects: dict[str, float],
        pair_sd: float = PAIR_SD,
        start: float = START,
        fast_share: float = 0.0,
        slow_seconds: float = 0.0,
    ) -> None:
        self._random = random
        self._effects = effects
        self._pair_sd, self._start, self._fast_share = pair_sd, start, fast_share
        self._slow_seconds = slow_seconds
        self._now = float(random.uniform(0, PERIOD))

    def pair(self, plan: PairPlan) -> PairTimes:
        """Start two processes and time benchmarks in them."""
        self._now += self._start
        speeds = np.where(self._random.random(2) < BROKEN, BROKEN_FACTOR, 1.0)
        visits = {}
        for name, seconds in plan.seconds.items():
            offset = self._random.normal(0, self._pair_sd) + np.log1p(self._effects.get(name, 0.0))
            factors = speeds * np.exp([-offset / 2, offset / 2])
            if self._fast_share:
                factors = factors * np.where(self._random.random(2) < self._fast_share, 1 / MODES_APART, 1.0)
            visit = self._slow_visit if self._slow_seconds else self._visit
            visits[name] = visit(name, seconds, factors)
        return PairTimes(self._start, visits)

    def _visit(self, name: str, seconds: float, factors: Array) -> Visit:
        # As many blocks as fit in the time, by what one takes: a coordinator calibrates them.
        two = name.startswith("two")
        drift = 1 + DRIFT * np.sin(2 * np.pi * self._now / PERIOD)
        block = ROUNDS * ROUND_NS * 1e-9 * drift * (1.5 if two else 1.0) * factors.sum()
        count = max(1, round(seconds / block))
        moments = self._now + block * np.arange(count)
        times = ROUND_NS * (1 + DRIFT * np.sin(2 * np.pi * moments / PERIOD))
        draws = medians()[self._random.integers(0, len(medians()), (2, count))]
        if two:
            draws *= self._random.integers(1, 3, (2, count))
        blocks = times * draws * factors[:, None]
        took = float(blocks.sum()) * ROUNDS * 1e-9
        self._now += took
        return Visit(tuple(blocks[0].tolist()), tuple(blocks[1].tolist()), count * ROUNDS, took)

    def _slow_visit(self, _name: str, seconds: float, factors: Array) -> Visit:
        turn = 2 * self._slow_seconds * factors.sum()
        count = max(FEWEST_BLOCKS, int(np.ceil(seconds / turn)))
        draws = np.exp(self._random.normal(0, SIGMA, (2, count)))
        blocks = 1e9 * self._slow_seconds * draws * factors[:, None]
        took = SLOW_SET_UP + 2e-9 * float(blocks.sum())
        self._now += took
        return Visit(tuple(blocks[0].tolist()), tuple(blocks[1].tolist()), count, took)


def adaptive(seed: int, effect: float) -> dict[str, Any]:
    """Simulate a run; return verdict, pairs and seconds of each benchmark."""
    random = np.random.default_rng([seed, 1])
    machine = Machine(random, dict.fromkeys(PLANTED.values(), effect) if effect else {})
    schedule = Schedule(NAMES, THRESHOLDS, BUDGET, random=random)
    starts = dict.fromkeys(NAMES, 0.0)
    visits = []
    while plan := schedule.next():
        schedule.add(machine.pair(plan))
        visits.append(float(np.median(list(plan.seconds.values()))))
        for name in plan.seconds:  # who is measured shares the start
            starts[name] += START / len(plan.seconds)
    decisions = schedule.decisions()
    truth = {name: 1 + effect if name in PLANTED.values() else 1.0 for name in NAMES}
    judgements = {name: one.judgement for name, one in decisions.items()}
    return {
        "verdicts": {name: one.verdict for name, one in judgements.items()},
        "pairs": {name: one.counts.pairs for name, one in decisions.items()},
        "seconds": {name: one.counts.seconds + starts[name] for name, one in decisions.items()},
        "ratios": {name: judgements[name].ratio for name in PLANTED.values()},
        "wide": all(
            (one.low or 0) <= truth[name] <= (one.high or np.inf) for name, one in judgements.items()
        ),
        "own": np.mean(
            [
                (one.own_low or 0) <= truth[name] <= (one.own_high or np.inf)
                for name, one in judgements.items()
            ]
        ),
        "visit": visits[1] if len(visits) > 1 else None,
        "total": schedule.spent_seconds,
    }


def few(kind: str, seed: int, effect: float) -> dict[str, Any]:
    """Simulate a run of few benchmarks; return the verdict on the first, and the verdicts on the others."""
    case = FEW[kind]
    names = [f"one-{number}" for number in range(case.benchmarks)]
    random = np.random.default_rng([seed, 3])
    machine = Machine(
        random, {names[0]: effect}, case.pair_sd, case.start, case.fast_share, case.slow_seconds
    )
    likely = names[: case.likely]
    schedule = Schedule(names, THRESHOLDS, case.budget, random=random, likely=likely)
    while plan := schedule.next():
        schedule.add(machine.pair(plan))
    verdicts = [one.judgement.verdict for one in schedule.decisions().values()]
    identical = verdicts[1:] if effect else verdicts
    alarm = any(one in ("slower", "faster") for one in identical)
    same = _share(one == "same" for one in identical) if identical else None
    return {"verdict": verdicts[0], "alarm": alarm, "same": same, "total": schedule.spent_seconds}


def one_run(key: Key) -> dict[str, Any]:
    """Simulate a run."""
    kind, effect, seed = key
    found = few(kind, seed, effect) if kind in FEW else adaptive(seed, effect)
    return {"kind": kind, "effect": effect, "seed": seed, **found}


def simulate(runs: int, power: int, seed: int, keep: Path | None = None) -> dict[str, Any]:
    """Simulate runs of fixed seeds, on all cores, those that are not kept yet.

    Args:
        runs: of identical benchmarks.
        power: with each effect.
        seed: of the first; the others follow.
        keep: file of finished runs; None keeps nothing.
    """
    first = seed * 1_000_000
    wanted = [
        ("adaptive", effect, first + run) for effect in EFFECTS for run in range(power if effect else runs)
    ]
    for kind, case in FEW.items():
        wanted += [(kind, 0.0, first + run) for run in range(runs)]
        wanted += [(kind, case.effect, first + run) for run in range(power)]
    return summarize(kept(one_run, wanted, keep))


def kept(
    one: Callable[[Key], dict[str, Any]], wanted: Sequence[Key], keep: Path | None
) -> list[dict[str, Any]]:
    """Return the run of each key. Runs that the file lacks are simulated on all cores, and added to it."""
    found: dict[Key, dict[str, Any]] = {}
    if keep and keep.exists():
        text = keep.read_text(encoding="utf-8")
        if text and not text.endswith("\n"):  # stopped while it wrote
            keep.write_text(text + "\n", encoding="utf-8")
        for line in text.splitlines():
            run = _read(line)
            found[run["kind"], run["effect"], run["seed"]] = run
    left = [key for key in wanted if key not in found]
    medians()  # the workers are forked, and have it too
    with ProcessPoolExecutor() as pool:
        for run in pool.map(one, left, chunksize=5):
            found[run["kind"], run["effect"], run["seed"]] = run
            if keep:
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(run) + "\n")
    return [found[key] for key in wanted]


def _read(line: str) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except ValueError:  # half a line
        return {"kind": "", "effect": 0.0, "seed": 0}


def _share(values: Iterable[Any]) -> float:
    return float(np.mean(list(values)))


def _middle(values: Iterable[float]) -> dict[str, float]:
    return dict(zip(("median", "90%"), map(float, np.percentile(list(values), [50, 90])), strict=True))


def _of_kind(run: dict[str, Any], what: str, kind: str) -> list[Any]:
    planted = PLANTED.values() if run["effect"] else ()
    return [value for name, value in run[what].items() if name.startswith(kind) and name not in planted]


def summarize(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return error rates, power and durations over all runs."""
    runs = {
        effect: [run for run in found if (run["kind"], run["effect"]) == ("adaptive", effect)]
        for effect in EFFECTS
    }
    nothing = runs[0.0]
    result: dict[str, Any] = {
        "runs": len(nothing),
        "power_runs": len(runs[EFFECTS[-1]]),
        "alarms": sum(
            any(one in ("slower", "faster") for one in run["verdicts"].values()) for run in nothing
        ),
        "covered_family": _share(run["wide"] for all_ in runs.values() for run in all_),
        "covered_own": _share(run["own"] for all_ in runs.values() for run in all_),
        "visit_seconds": _middle(run["visit"] for run in nothing),
        "total_seconds": _middle(run["total"] for run in nothing),
    }
    for kind, planted in PLANTED.items():
        verdicts = [verdict for run in nothing for verdict in _of_kind(run, "verdicts", kind)]
        identical = {
            "same": _share(verdict == "same" for verdict in verdicts),
            "seconds": _middle(value for run in nothing for value in _of_kind(run, "seconds", kind)),
            "pairs": _middle(value for run in nothing for value in _of_kind(run, "pairs", kind)),
        }
        slowed = {}
        for effect in EFFECTS[1:]:
            slower = [run for run in runs[effect] if run["verdicts"][planted] == "slower"]
            slowed[str(effect)] = {
                "found": len(slower) / len(runs[effect]),
                "same": _share(run["verdicts"][planted] == "same" for run in runs[effect]),
                "seconds": _middle(run["seconds"][planted] for run in runs[effect]),
                "pairs": _middle(run["pairs"][planted] for run in runs[effect]),
                "ratio": _middle(run["ratios"][planted] for run in runs[effect])["median"],
            }
        result[f"{kind} mode{'s' * (kind == 'two')}"] = {"identical": identical, "slowed": slowed}
    result["few"] = {kind: _few([run for run in found if run["kind"] == kind]) for kind in FEW}
    return result


def _few(runs: list[dict[str, Any]]) -> dict[str, Any]:
    slowed = [run for run in runs if run["effect"]]
    return {
        "alarms": sum(run["alarm"] for run in runs if not run["effect"]),
        "found": _share(run["verdict"] == "slower" for run in slowed),
        "same": _share(run["same"] for run in runs if not run["effect"]),
        "seconds": _middle(run["total"] for run in slowed),
    }


def command_line(simulate: Callable[..., dict[str, Any]], description: str | None) -> None:
    """Read the command line, simulate, and print the results."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--power", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="finished runs, so that a later call goes on")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    text = json.dumps(simulate(options.runs, options.power, options.seed, options.keep), indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    command_line(simulate, __doc__)
