"""Real pairs of pytest processes on small suites."""

import os
import random
import time
from pathlib import Path
from types import SimpleNamespace

from gnnbench.compare.ab.pair import Workers
from gnnbench.compare.ab.processes import Processes
from gnnbench.variants.child import Child
from gnnbench.variants.prepare import Prepared
from tests.suite import environment


def side(*trees, **variables):
    return SimpleNamespace(trees=trees, environment=variables)


def prepared(text, *trees, **variables):
    return Prepared(text, trees, variables, None, False, {})


def write(folder, text, name="test_suite.py"):
    """Write a suite, and a configuration of its own, which names the only plugin that it needs."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p pytest_benchmark.plugin\n")
    (folder / name).write_text(text)
    return folder


def workers(folder, base=None, head=None, *, arguments=("test_suite.py",), seed=0, **options):
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    sizes, inspections = options.pop("sizes", {}), options.pop("inspections", {})
    time_all = options.pop("time_all", True)
    options = {"rng": random.Random(seed), "timeout_seconds": 60, **options}
    processes = Processes(base or side(), head or side(), arguments, folder=folder, logs=logs, **options)
    return Workers(processes, options["rng"], sizes, inspections, time_all=time_all)


def process(folder, *arguments, trees=(), **variables):
    return Child(
        arguments or ("test_suite.py",),
        environment=variables,
        trees=trees,
        folder=folder,
        log=folder / "worker.log",
    )


def of_group(group):
    """Return the processes of a group that run, zombies left out."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except OSError:
            continue
        state, _, its_group = rest.split()[:3]
        if int(its_group) == group and state != "Z":
            found.append(int(name.split()[0]))
    return found


def is_gone(group, seconds=10.0):
    """Wait for a group to end; tell whether it did."""
    deadline = time.monotonic() + seconds
    while of_group(group):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def clean(monkeypatch):
    """Have workers see the variables of `environment`, and load no plugins but those that are named."""
    kept = environment()
    for name in set(os.environ) - set(kept):
        monkeypatch.delenv(name)
    for name, value in kept.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
