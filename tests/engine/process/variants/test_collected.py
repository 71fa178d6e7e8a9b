"""How skips are counted; tests/engine/process/test_worker.py has tests that fail."""

from gnnbench.engine.process.variants import outcome


def test_skips_are_counted_with_the_most_frequent_reasons():
    assert outcome.skips([]) == []
    reasons = ["skipped: no GPU", "base and head: skipped: no GPU", "skipped: b", "skipped: c", "skipped: d"]
    assert outcome.skips(reasons) == ["5 benchmarks skipped (no GPU; b; and 2 other reasons)"]
