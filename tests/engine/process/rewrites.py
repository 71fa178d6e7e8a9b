"""Compares the outputs of two functions in one process."""

import json

import numpy as np

from gnnbench.engine.measure.benchmark_fixture import Pedantic
from gnnbench.engine.measure.clock import Call
from gnnbench.engine.measure.conditions import clear_compilations, seed
from gnnbench.engine.measure.returned.calls import ALL_NEW, ComparedCalls, snapshot_inputs
from gnnbench.engine.process.returned import agreement


def compared(folder, base, head, level=ALL_NEW, *, calls_before=0):
    """Compare two calls, which functions return, as the coordinator does with those of two workers."""
    clear_compilations()  # what an earlier test has compiled
    sides = []
    for build in (base, head):
        seed(1)
        calls = Pedantic.of(build())
        kept = snapshot_inputs(calls)
        for _ in range(calls_before):
            calls.next_call()()
        if calls_before:
            kept.restore()
        sides.append(ComparedCalls(calls, {}, level=level))
        sides[-1].first_state = kept and kept.state
        sides[-1].make_first()

    def fetch(side, number, place):
        saved = sides[side].save(number, place, folder)
        return saved and (saved.get("text") or np.load(folder / saved["file"]))

    answers = (json.loads(json.dumps(one.as_json())) for one in sides)
    return agreement(*({"answer": "returned", **one} for one in answers), fetch)


def rewritten(folder, base, head, *inputs, level=ALL_NEW, calls_before=0):
    """Compare two functions of the same inputs, which functions return."""
    calls = (lambda run=run: Call(run, tuple(one() for one in inputs), {}) for run in (base, head))
    return compared(folder, *calls, level=level, calls_before=calls_before)
