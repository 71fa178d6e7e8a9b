"""What the kinds of profile are tried on."""

import torch

from gnnbench.engine.measure.benchmark_fixture import Pedantic
from gnnbench.engine.profile.kinds import Subject
from gnnbench.engine.show import profile
from gnnbench.engine.show.console import Terminal
from gnnbench.suite import platforms, training

NODES, EDGES = 2708, 10_556
"""Of Cora."""


def edge_index():
    return torch.randint(0, NODES, (2, EDGES), generator=torch.Generator().manual_seed(0))


def subject_of(call, device, repeats):
    """A benchmark that has neither set-up nor tear-down."""
    return Subject(Pedantic(call, (), {}), device, repeats)


def epoch(case, repeats=2):
    """An epoch of a platform's network on a case's graph."""
    prepared = training.prepare(case, platforms.load(case.spec.platform))
    return subject_of(lambda: training.epoch(*prepared), "cpu", repeats)


def event(category, name, start_us, duration_us, **args):
    """An event as torch.profiler writes one into a Chrome trace."""
    times = {"ts": 4417374733791.0 + start_us, "dur": duration_us}
    return {"ph": "X", "cat": category, "name": name, **times, "args": args}


def table(kind, section):
    """Return what a terminal of 80 columns shows of a kind."""
    return Terminal(80).write([*profile.tables(kind, section)]).strip()


def widest(text):
    return max(len(line.rstrip()) for line in text.splitlines())
