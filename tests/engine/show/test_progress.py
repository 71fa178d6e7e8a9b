import io
import os

from rich.console import Console

from gnnbench.engine.judge.comparison import PairCounts
from gnnbench.engine.judge.schedule import UNTIMED, Decision
from gnnbench.engine.judge.verdict import Judgement
from gnnbench.engine.show.progress import QUIET_SECONDS, ErrorConsole, Progress


class Clock:
    seconds = 100.0

    def __call__(self):
        return self.seconds


def decision(verdict="same"):
    judgement = Judgement(verdict, "", 1.0, 0.98, 1.02)
    return Decision(judgement, PairCounts(4, 0, 10, 10, 1.0, verdict != "undecided"))


def piped():
    """Return what shows progress in a pipe, not entered: the test says when time has passed."""
    file, clock = io.StringIO(), Clock()
    return Progress(Console(file=file), clock), file, clock


def test_in_a_pipe_a_long_step_is_told_again_and_short_ones_are_not():
    progress, file, clock = piped()
    for number in range(1, 101):
        progress.step(f"timing benchmark {number} of 100")
        clock.seconds += 0.3
        progress.remind()
    told = [f"gnnbench: timing benchmark {number} of 100 (0 s)" for number in (1, 34, 68)]
    assert file.getvalue().splitlines() == told, "after a third of a second each, in ten seconds one"
    progress.step("installing torch_geometric==2.4.0")
    clock.seconds += 34
    progress.remind()
    assert file.getvalue().endswith("gnnbench: installing torch_geometric==2.4.0 (34 s)\n")


def test_in_a_pipe_a_decision_is_a_line_and_so_counts_as_one():
    progress, file, clock = piped()
    progress.update({"a": decision(), "b": decision("undecided")}, 12.0, 48.0)
    progress.update({"a": decision(), "b": decision("undecided")}, 13.0, 47.0)
    assert [line.split()[-1] for line in file.getvalue().splitlines()] == ["a"]
    progress.step("starting pair 3 of processes")
    assert "starting" not in file.getvalue()
    clock.seconds += QUIET_SECONDS
    progress.remind()
    assert file.getvalue().endswith(
        "starting pair 3 of processes (10 s; the run: 1 of 2 decided, at most 37 s more)\n"
    )
    clock.seconds += 60
    progress.remind()
    assert file.getvalue().endswith("processes (70 s)\n")


def test_in_a_pipe_those_that_run_the_same_code_are_one_line():
    progress, file, _ = piped()
    same = {f"same{number}": UNTIMED for number in range(10)}
    for late in ({}, {"late": UNTIMED}):
        progress.update({"a": decision(), "b": decision("undecided"), **same, **late}, 20.0, 40.0)
    assert file.getvalue().splitlines() == [
        "20 s: 10 run the same code",
        "20 s: same (by time) 1.000x 0.980-1.020 4 pairs a",
        "20 s: 1 runs the same code",
    ]


def test_in_a_terminal_the_step_and_its_seconds_stand_below_the_verdicts():
    file, clock = io.StringIO(), Clock()
    console = Console(file=file, force_terminal=True, width=80, highlight=False)
    with Progress(console, clock) as progress:
        decisions = {"a": decision(), "b[x]": decision("undecided"), "c": UNTIMED, "d": decision("slower")}
        progress.update(decisions, 12.0, 48.0)
        progress.step("timing [b]")
        clock.seconds += 3
        progress._live.refresh()
        progress.step("installing [thing]==1", 60.0)
        progress.detail("downloading")
    shown = file.getvalue()
    for line in ("slower (by time) 1.000x 0.980-1.020 4 pairs d", "1 runs the same code", "  downloading"):
        assert line in shown
    assert "timing [b] (3 s; the run: 3 of 4 decided, at most 45 s more)" in shown
    assert "installing [thing]==1 (0 s of at most 60 s)" in shown
    assert "gnnbench: " not in shown, "no step is a line of its own"


def test_where_nobody_reads_the_command_goes_on(capfd, monkeypatch):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        monkeypatch.setattr("sys.stderr", closed)
        progress = Progress(ErrorConsole())
        progress.say("one")
        progress.say("two")
        os.dup2(os.open(os.devnull, os.O_WRONLY), closed.fileno())  # for what it flushes as it is closed
    assert capfd.readouterr().out == ""
