"""Which functions a process runs."""

import subprocess
import sys

import pytest

from gnnbench.engine.process.unchanged import executed

BEGIN = """
import sys
import threading
from importlib import util
spec = util.spec_from_file_location("executed", sys.argv[1])
module = util.module_from_spec(spec)
spec.loader.exec_module(module)

def names():
    return {code.co_name for code in noted.take()} & set(sys.argv[2:])

def one(): pass

def two(): pass

def around(inner): inner()

def yields():
    yield 1
    yield 2
"""
CASES = {
    "functions that ran": (
        "one(); first = names(); two(); print(first, names(), names())",
        "{'one'} {'two'} set()",
    ),
    "a function that has not ended": ("around(lambda: print(names()))", "{'around'}"),
    "in a thread": ("t = threading.Thread(target=one); t.start(); t.join(); print(names())", "{'one'}"),
    "a generator that goes on": ("g = yields(); next(g); names(); next(g); print(names())", "{'yields'}"),
    "where a profiler is paused, as pytest-benchmark does": (
        (
            "def pause():\n"
            "    before = sys.getprofile(); sys.setprofile(None)\n"
            "    with noted.noting(): one()\n"
            "    sys.setprofile(before)\n"
            "def outer(): around(pause); two()\n"
            "outer(); print(sorted(names()), noted.has_gaps)"
        ),
        "['around', 'one', 'outer', 'pause', 'two'] False",
    ),
    "where a profiler is on for one call, as counters are": (
        (
            "def count():\n"
            "    before = sys.getprofile(); sys.setprofile(lambda *_: None)\n"
            "    int(); sys.setprofile(before)\n"
            "def outer(): around(count); two()\n"
            "outer(); print(sorted(names()), noted.has_gaps)"
        ),
        "['around', 'count', 'outer', 'two'] False",
    ),
    "below where a profiler is resumed": (
        (
            "def resume(): sys.setprofile(before); one()\n"
            "def pause(): sys.setprofile(None); around(resume)\n"
            "def outer(): pause(); two()\n"
            "before = sys.getprofile(); outer(); print(sorted(names() - {'around'}))"
        ),
        "['one', 'outer', 'pause', 'two']",
    ),
}


@pytest.mark.parametrize(("source", "seen"), CASES.values(), ids=CASES)
def test_which_functions_ran(source, seen):
    script = f"{BEGIN}\nnoted = module.FunctionRecorder(); names()\n{source}"
    words = ["one", "two", "around", "yields", "outer", "pause", "count"]
    done = subprocess.run(
        [sys.executable, "-c", script, executed.__file__, *words], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{seen}\n", done.stderr
