"""Results of bisections, made up."""

from gnnbench.engine.drive.bisect.followed import Change
from gnnbench.engine.drive.bisect.journal import BisectSetting
from gnnbench.engine.drive.bisect.line import Candidate, Cause, Line
from gnnbench.engine.drive.bisect.result import Bisected, BisectResult, Finding
from gnnbench.engine.judge.comparison import PairCounts
from gnnbench.engine.judge.schedule import Decision
from gnnbench.engine.judge.verdict import Judgement, Thresholds


def commits(count):
    causes = [
        Cause("commit", f"{number:040x}"[::-1], f"change {number}", "2026-01-31")
        for number in range(1, count + 1)
    ]
    candidates = [Candidate(one.short, f"git:{one.name}", one) for one in causes]
    return Line("commit", (Candidate("good", "git:good"), *candidates))


def setting(folder, **more):
    usual = {"arguments": ("test_a.py",), "per_benchmark_seconds": 60.0, "timeout_seconds": 60.0}
    fields = {"folder": folder, "cache": folder / "cache", "thresholds": Thresholds(0.03), **usual, **more}
    return BisectSetting(**fields)


def finding(line, low, high, inspections=None, **ratios):
    """Return what was found between two candidates: ratios by benchmark."""
    changes = {
        f"test_a.py::{name}": Change(ratio, (ratio - 0.1, ratio + 0.1)) for name, ratio in ratios.items()
    }
    ends = line.candidates[low], line.candidates[high]
    return Finding(*ends, tuple(line.causes(low, high)), changes, inspections or {})


def result(line, *verdicts, findings=(), unmeasured=None, **more):
    """Return a result in which benchmarks have these verdicts on the ends."""
    decisions = {
        f"test_a.py::{name}": Decision(Judgement(verdict, "", 1.2, 1.1, 1.3), PairCounts(4, 0, 9, 9, 1.0))
        for name, verdict in zip("ab", verdicts, strict=False)
    }
    stage = Bisected(line, decisions, tuple(findings), unmeasured or {}, 4, 60.0, **more)
    return BisectResult("git:good", "git:main", ("suite", "-x"), Thresholds(0.03), {"cpu": "one"}, (stage,))
