from gnnbench.engine.judge.comparison import Work
from gnnbench.engine.measure.counter_changes import CounterChange
from gnnbench.engine.show import bisect
from gnnbench.engine.show.console import Terminal
from tests.engine.drive.bisect.results import commits, finding, result

LINE = commits(14)
SHORT = [one.cause.short for one in LINE.candidates[1:]]
NAMED = [f"commit {one.short} (2026-01-31): {one.title}" for one in LINE.place(0, 14).causes]


def printed(found, **options):
    return Terminal(None).write(bisect.document(found, **options)).splitlines()


def test_a_range_names_its_first_ten_candidates_and_counts_the_others():
    found = result(LINE, "slower", findings=[finding(LINE, 0, 12, a=1.5), finding(LINE, 12, 14, a=1.1)])
    lines = printed(found)
    first = lines.index(f"one of 12 commits after good, up to {SHORT[11]}:")
    assert lines[first + 1 : first + 12] == [*NAMED[:10], "and 2 more"]
    second = lines.index(f"one of 2 commits after {SHORT[11]}, up to {SHORT[13]}:")
    assert lines[second + 1 : second + 3] == NAMED[12:]


def test_below_a_finding_stands_what_differs_and_the_command_and_last_what_could_not_be_measured():
    counted = {"a": Work(counters=(CounterChange("aten::mm", 1, 3),))}
    reasons = {f"{number}": "no compiler" for number in range(7)}
    one = finding(LINE, 3, 4, counted, a=1.5, b=1.2)
    found = result(LINE, "slower", "slower", findings=[one], unmeasured=reasons, notes=("a note",))
    command = f"gnnbench ab {one.before.variant} {one.after.variant} -- -x test_a.py::a test_a.py::b"
    last = "2 slower; 14 candidates, 4 pairs of processes; 60.0 s"
    why = [f"{number} cannot be measured: no compiler" for number in range(7)]
    assert printed(found)[7:] == ["counters: +2 aten::mm", f"repeat: {command}", "", *why, "a note", last]
    assert printed(found, verbose=False)[10:] == [f"{why[0]}; 7 more notes: -v prints them", last]
