import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from socket import socketpair

import psutil

from gnnbench.engine.interfaces import Listener
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.process.pairs import Pair
from gnnbench.engine.process.plan import PairSettings, Plan
from gnnbench.engine.process.processes import Shared
from gnnbench.engine.process.variants.child import Child
from gnnbench.engine.process.variants.import_roots import Trees
from gnnbench.engine.process.variants.pipe import ClosedError, Link
from gnnbench.engine.process.variants.variant import Prepared
from gnnbench.engine.process.worker import Worker
from tests.engine.process.variants.repositories import wait_for
from tests.runs import as_a_user


class Watcher(Listener):
    def __init__(self):
        self.said = []
        self.steps = []
        self.updates = []

    def say(self, text):
        self.said.append(text)

    def step(self, text, at_most_seconds=None):
        self.steps.append((text, at_most_seconds))

    def update(self, decisions, spent_seconds, left_seconds):
        self.updates.append((dict(decisions), spent_seconds, left_seconds))


def prepared(text, *trees, **variables):
    return Prepared(text, trees, variables)


def machine(file, benchmarks, **noise):
    """Write a simulated machine's true times, and return the value of its variable."""
    content = {"benchmarks": benchmarks, "noise": {"spike_probability": 0, **noise}}
    file.write_text(json.dumps(content))
    return f"1:{file}"


def write(folder, text, name="test_suite.py"):
    """Write a suite, and a configuration of its own, which names the only plugin that it needs."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p pytest_benchmark.plugin\n")
    (folder / name).write_text(text)
    return folder


def sides_of(folder, base, head):
    """Write a module `thing` of each side with its text, and return the sides."""
    for side, text in (("base", base), ("head", head)):
        (folder / side).mkdir()
        (folder / side / "thing.py").write_text(text)
        yield prepared(f"path:{side}", folder / side)


def plan(folder, **changes):
    usual = {"arguments": ("test_suite.py",), "timeout_seconds": 60, "thresholds": Thresholds(0.03)}
    return Plan(folder=folder, **{**usual, **changes})


def common(folder, *, number=0, rng=None, why_apart="", **changes):
    """Return what all pairs of a run of the suite in a folder have in common."""
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    return Shared(plan(folder, **changes), logs, rng or random.Random(0), number, why_apart=why_apart)


def workers(folder, base, head, **options):
    return Pair(
        PairSettings(base, head), common(folder, **{"time_all": True, "why_apart": "asked", **options})
    )


def lines(folder, name):
    return [line.split() for line in (folder / name).read_text().splitlines()]


class Asked(Child):
    def ask(self, command, timeout_seconds):
        self.send(command)
        return self.answer(timeout_seconds)


def process(folder, *arguments, trees=(), places=(), terms=None, **variables):
    return Asked(
        arguments or ("test_suite.py",),
        environment=variables,
        trees=Trees(list(map(str, trees)), places, str(folder)),
        folder=folder,
        log=folder / "worker.log",
        settings=terms or {},
    )


TERMS = {"pair": 0, "side": 0}
NEXT, BLOCK = {"command": "next"}, {"command": "block", "rounds": 2, "iterations": 3}


def visits(*names, blocks=1, file="test_suite.py"):
    """Return commands that run tests with so many blocks each."""
    commands = []
    for name in names:
        run = {"command": "run", "name": f"{file}::{name}", "seed": 1}
        commands += [run, *[BLOCK] * blocks, NEXT]
    return commands


def here(pytester, suite, commands, *arguments, **options):
    """Run a worker in this process, and return its answers to commands, or to those for what it collects.

    `options` are among the worker's terms.
    """
    pytester.makepyfile(test_suite=suite)
    ours, theirs = (Link(end.detach()) for end in socketpair())
    answers = []

    def coordinate():
        with suppress(ClosedError):
            answers.append(ours.receive())
            given = commands(answers[0]) if callable(commands) else commands
            for command in given:
                ours.send(command)
                answers.append(ours.receive())
            ours.send({"command": "quit"})

    with ThreadPoolExecutor(1) as pool:
        pool.submit(coordinate)
        try:
            worker = Worker({**TERMS, **options}, theirs, Trees([]))
            words = arguments or ("test_suite.py",)
            pytester.inline_run("-p", "pytest_benchmark.plugin", *words, plugins=[worker])
        finally:
            theirs.close()
    ours.close()
    return answers


def of_group(group):
    """Return the processes of a group that run, zombies left out."""
    found = []
    for process in psutil.process_iter(["status"]):
        with suppress(ProcessLookupError):
            if os.getpgid(process.pid) == group and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def wait_for_end(*groups):
    wait_for(lambda: not any(map(of_group, groups)), 100)


def clean(monkeypatch):
    """Have workers see the variables of `environment`, and load no plugins but those that are named."""
    as_a_user(monkeypatch, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
