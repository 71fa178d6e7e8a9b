"""Sides that answer what a test says: processes that start in milliseconds, where pytest takes a second."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from gnnbench.engine.measure import instructions

_PYTHON = sys.executable
_SCRIPT = """
import json, marshal, os, sys
terms = json.loads(sys.argv[4])
side = ("base", "head")[terms["side"]]
with open(terms["trees"], "rb") as file:
    roots = marshal.load(file)[0]
if roots and os.path.exists(roots[0] + "/SIDE"):
    with open(roots[0] + "/SIDE") as file:
        side = file.read()
with open(__file__.removesuffix("py") + "json") as file:
    answers = json.load(file)[side]
commands = os.fdopen(terms["link"], "rb")
command, name = {"command": "collected", "now": 0.0}, ""
while command["command"] != "quit":
    name = command.get("name", name)
    found = answers.get(f"{command['command']} {name}") or answers[command["command"]]
    if isinstance(found, list):
        found = found.pop(0) if len(found) > 1 else found[0]
    if isinstance(found, str):
        sys.exit(found)
    answer = {"now": command["now"] + answers["seconds"], "loaded": answers["loaded"], **found}
    if totals := found.get("totals"):
        answer["file"] = os.environ["GNNBENCH_CALLGRIND"] + "/out.1"
        with open(answer["file"], "w") as opened:
            opened.write(f"totals: {totals[-1]}\\n")
    content = json.dumps(answer).encode()
    os.write(terms["link"], len(content).to_bytes(4, "big") + content)
    size = int.from_bytes(commands.read(4), "big")
    command = json.loads(commands.read(size)) if size else {"command": "quit"}
"""
"""Its arguments are those of Python: `-c`, what it runs, and that one's arguments, the first of which are the
terms."""


def fingerprint(**functions: str) -> dict[str, Any]:
    """Return the fingerprint of a call that runs these functions, by name the hash of each."""
    empty: dict[str, Any] = {part: {} for part in ("values", "libraries", "work", "set_to")}
    return {"code": str(functions), "settings": "", "functions": functions, **empty}


def inspected(**functions: str) -> dict[str, Any]:
    """Return an answer to `inspect`; without functions, that of a call without a fingerprint."""
    found = fingerprint(**functions) if functions else None
    unseen = None if functions else "it cannot be seen"
    return {"answer": "inspected", "counts": {}, "memory": None, "fingerprint": found, "unseen": unseen}


def costing(steps: float, seconds: float | None = 1e-3, waiting: float = 0.0) -> dict[str, Any]:
    return {"answer": "cost", "cost": {"steps": steps, "seconds": seconds, "waiting": waiting}}


def block(ms: float) -> dict[str, Any]:
    """Return an answer to `block`: so many milliseconds a call."""
    ns = ms * 1e6
    return {"answer": "block", "ns": ns, "mean_ns": ns, "rounds": 5, "cpu_ns": None, "gpu_ns": None}


def done(text: str = "", *, skipped: bool = False) -> dict[str, Any]:
    """Return an answer of a test that has ended, and how it failed if there is a text."""
    failure = {"text": text, "skipped": skipped} if text else None
    return {"answer": "done", "failure": failure, "held": True, "fixture": ""}


def valgrind(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let valgrind be a script in a folder that runs what it is given; sides that answer write its files."""
    program = folder / "valgrind"
    program.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && exec echo valgrind-3\n'
        'while case $1 in -*) ;; *) false ;; esac; do shift; done\nexec "$@"\n'
    )
    program.chmod(0o755)
    patch.setenv("PATH", str(folder), prepend=os.pathsep)
    patch.setattr(instructions, "ARCHITECTURE", os.uname().machine)


def answering(patch: pytest.MonkeyPatch, folder: Path, names: list[str], **sides: dict[str, Any]) -> None:
    """Let each side that is started be a process that answers so, on a simulated machine.

    `names` are the ids of the tests that each side collects. `sides` has, by `base` and `head` or by the text
    of a file `SIDE` in the side's first tree, the answers that are not the usual ones: by command, or by
    command and test, as in `run test_a.py::test_b`. Of a list the last one is for all further ones; at a text
    the process ends. `loaded` is what the side imports from its trees, `seconds` how long a command takes.
    """
    nothing: dict[str, Any] = {
        "has_others": False,
        "refused": {},
        "notes": [],
        "excluded": [],
        "why_no_forks": "it is simulated",
        "places": [],
        "rootdir": ".",
    }
    usual = {
        "seconds": 0.01,
        "loaded": ["package"],
        "collected": {"answer": "collected", "names": names, "declared": names, **nothing},
        "run": {"answer": "ready", "once": False},
        "calibrate": {"answer": "calibrated", "iterations": 1, "round_seconds": 1e-3, "cores": []},
        "block": [block(1.0 + change) for change in (0.0, 1e-3, 2e-3, 1e-3)],
        "cost": costing(100),
        "count": {"answer": "counted", "totals": [1000, 1000]},
        "next": done(),
    }
    answers = {
        name: {**usual, "inspect": inspected(work=name), **sides.get(name, {})}
        for name in ("base", "head", *sides)
    }
    (folder / "side.json").write_text(json.dumps(answers))
    (folder / "side.py").write_text(_SCRIPT)
    python = folder / "python"
    script = shlex.quote(str(folder / "side.py"))
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(_PYTHON)} -IS {script} "$@"\n')
    python.chmod(0o755)
    patch.setattr(sys, "executable", str(python))
