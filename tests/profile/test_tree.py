import itertools
import sys
import types

import torch

from gnnbench.profile import ranges, tree
from gnnbench.profile.subject import Subject
from gnnbench.profile.targets import PHASES
from gnnbench.profile.tree import measure, table
from tests.profile.subjects import widest


def ticking(call, targets, repeats):
    """Measure by a clock that goes on by 1 whenever it is read."""
    return measure(Subject(call, "cpu", repeats), targets, itertools.count().__next__)


def test_libraries_are_looked_through_before_the_first_call_and_after_it_only(monkeypatch):
    looks = []
    monkeypatch.setattr(ranges, "find", lambda targets: looks.append(targets) or ([], ()))
    ticking(lambda: None, PHASES, 5)
    assert looks == [PHASES] * 2


def test_calls_without_ranges_find_the_library_as_it_is_and_others_do_not():
    relu, seen = torch.nn.functional.relu, []
    target = ranges.Target("relu", "torch.nn.functional:relu")
    ticking(lambda: seen.append(torch.nn.functional.relu is relu), [target], 4)
    assert seen == [False, False, True, True, False, False, True, True, False]
    assert torch.nn.functional.relu is relu


def test_what_the_first_call_imports_is_found_from_then_on(monkeypatch):
    library = types.ModuleType("a_late_library")
    library.late = lambda: None

    def call():
        monkeypatch.setitem(sys.modules, library.__name__, library)
        library.late()

    section = ticking(call, [ranges.Target("late", "a_late_library:late")], 3)
    row = section["rows"][1]
    assert (row["path"], row["calls"], row["cold_ns"]) == (["call", "late"], [1, 1, 1], 0)


def test_calls_are_those_of_each_repeat(monkeypatch):
    library, numbers = types.ModuleType("a_library"), itertools.count()
    library.rare = lambda: None
    monkeypatch.setitem(sys.modules, library.__name__, library)
    targets = [ranges.Target("rare", "a_library:rare")]
    section = ticking(lambda: next(numbers) % 4 == 1 and library.rare(), targets, 4)
    assert section["rows"][1]["calls"] == [1, 0, 1, 0]  # of the calls with ranges, 0, 1, 4, 5 and 8
    assert "rare" in table(section)


def test_the_average_is_over_the_calls_there_were():
    def row(*path, **of_each):
        return {"path": list(path), "cold_ns": 1, **of_each}

    section = {
        "rows": [
            row("call", calls=[1, 1, 1], total_ns=[10, 10, 10], self_ns=[10, 4, 10]),
            row("call", "loss", calls=[0, 2, 0], total_ns=[0, 6, 0], self_ns=[0, 6, 0]),
        ],
        "plain_ns": [10, 10, 10],
        "missing": [],
        "nvtx": False,
    }
    text = table(section)
    assert text.splitlines()[1].split() == ["loss", "2", "3.00", "ns", "0.0%", "20%", "20%", "1.00", "ns"]
    assert widest(text) <= tree.WIDTH
