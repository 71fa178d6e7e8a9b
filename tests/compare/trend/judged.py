"""Results made without files."""

from datetime import timedelta
from pathlib import Path

import numpy as np

from gnnbench.compare.trend.history import DATE, History, HistoryRun, Series
from gnnbench.compare.trend.result import JudgedSeries, TrendResult
from gnnbench.compare.trend.steps import Step
from tests.compare.trend.runs import START


def step(at, ratio=1.1, around=1):
    """Return a step."""
    return Step(at - around - 1, at - around, at, at + around, 1e6, 1e6 * ratio, ratio - 0.01, ratio + 0.01)


def history(runs=40, *, name="here_1", first_day=0, commits=True, **numbers):
    """Return a history without series."""
    found = []
    for number in range(runs):
        date = (START + timedelta(days=first_day + number)).isoformat(timespec="microseconds")
        commit = f"{number:07x}" + "0" * 33 if commits else None
        found.append(HistoryRun((Path(f"/{number}.json"),), date, commit, number % 7 == 3))
    return History(name, DATE, tuple(found), (), **{"superseded": 0, "contended": 0, "older": 0, **numbers})


def judged(of, steps=(), small=(), *, name="test_a.py::b0", runs=None, memory=()):
    """Return a series of a history."""
    places = np.arange(len(of.runs)) if runs is None else np.array(runs)
    logs = np.log(1e6) + np.random.default_rng(0).normal(0, 0.01, len(places))
    for one in steps:
        logs[one.at :] += np.log(one.ratio)
    return JudgedSeries(of, Series(name, places, logs), tuple(steps), tuple(small), tuple(memory))


NOW = (START + timedelta(days=300)).isoformat(timespec="microseconds")


def result(*of, histories=None, now=NOW):
    """Return a result of these series."""
    found = histories or tuple({id(one.history): one.history for one in of}.values())
    return TrendResult(found, of, 0.03, 0.0005, now)
