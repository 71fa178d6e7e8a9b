"""Results of bisections, made up."""

from gnnbench.engine.drive.bisect.bisection import Bisected, Change, Finding
from gnnbench.engine.drive.bisect.history import Candidate, Cause, History
from gnnbench.engine.drive.repeat import Repeat
from gnnbench.engine.drive.result import Result, Side
from gnnbench.engine.judge.comparison import Compared, Comparison, Work
from gnnbench.engine.judge.verdict import Judgement, Thresholds
from gnnbench.engine.process.plan import Plan


def commits(count):
    causes = [
        Cause("commit", f"{number:040x}"[::-1], f"change {number}", "2026-01-31")
        for number in range(1, count + 1)
    ]
    candidates = [Candidate(one.short, f"git:{one.name}", one) for one in causes]
    return History((Candidate("good", "git:good"), *candidates))


def setting(folder, **more):
    usual = {"arguments": ("test_a.py",), "per_benchmark_seconds": 60.0, "timeout_seconds": 60.0}
    fields = {"folder": folder, "cache": folder / "cache", "thresholds": Thresholds(0.03), **usual, **more}
    return Plan(**fields)


def finding(line, low, high, works=None, **ratios):
    changes = {
        f"test_a.py::{name}": Change(ratio, (ratio - 0.1, ratio + 0.1), (works or {}).get(name, Work()))
        for name, ratio in ratios.items()
    }
    place = line.place(low, high)
    again = Repeat(place.before.variant, place.after.variant, pytest=("-x",))
    return Finding(**vars(place), changes=changes, command=again.commands(list(changes)).ab)


def result(line, *verdicts, findings=(), unmeasured=None, **more):
    """Return a result in which benchmarks have these verdicts on the ends."""
    rows = [
        Compared(f"test_a.py::{name}", Judgement(verdict, "", 1.2, 1.1, 1.3), None)
        for name, verdict in zip("ab", verdicts, strict=False)
    ]
    ends = Result("ab", Side("git:good"), Side("git:main"), Comparison(rows), Thresholds(0.03))
    return Bisected(ends, tuple(findings), unmeasured or {}, line.last, 4, 60.0, **more)
