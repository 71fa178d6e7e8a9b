"""Run files of a history."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np

from tests.run_files import MACHINE, content, entry

START = datetime(2026, 1, 1, tzinfo=UTC)


def run(number, factors, *, commits=True, contended=False, **environment):
    """Return a run file: benchmark `bN` takes a millisecond times its factor, measured on day `number`."""
    date = (START + timedelta(days=number)).isoformat()
    commit = f"{number:02x}" + "c" * 38
    measured = [entry(f"b{index}", factor, seed=number, blocks=30) for index, factor in enumerate(factors)]
    for one in measured:
        one["extra_info"]["gnnbench"]["measurement"]["contention_share"] = 0.5 if contended else 0.01
    whole = content(*measured, commit=commit, **environment)
    info = {"id": commit, "dirty": False, "time": date if commits else None}
    return {**whole, "datetime": date, "commit_info": info}


def plain(number, seconds):
    """Return a file of pytest-benchmark alone, without its rounds."""
    date = (START + timedelta(days=number)).replace(tzinfo=None).isoformat()
    entries = [
        {"fullname": f"test_p.py::p{index}", "extra_info": {}, "stats": {"median": one}}
        for index, one in enumerate(seconds)
    ]
    return {
        "machine_info": MACHINE,
        "commit_info": {"id": "unversioned", "time": None, "dirty": False},
        "benchmarks": entries,
        "datetime": date,
    }


def save(folder, contents, first=0):
    """Write run files, and return their paths."""
    folder.mkdir(exist_ok=True)
    paths = []
    for number, one in enumerate(contents, first):
        paths.append(folder / f"{number:04}.json")
        paths[-1].write_text(json.dumps(one))
    return paths


def factors(seed, runs, *, at=None, size=0.1):
    """Return times in milliseconds [runs, 3]; the first benchmark is slower from a run on."""
    logs = np.random.default_rng(seed).normal(0, 0.01, (runs, 3))
    if at is not None:
        logs[at:, 0] += np.log1p(size)
    return np.exp(logs)
