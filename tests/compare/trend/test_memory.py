from datetime import UTC, datetime

from gnnbench.cli.trend import exit_code
from gnnbench.compare.memory import MemoryChange, Peaks
from gnnbench.compare.trend import history, memory, result
from gnnbench.compare.trend.digest import BenchmarkDigest, Digest
from gnnbench.report.trend import table
from gnnbench.schema import departure
from tests.compare.trend.test_history import files

KIB, MIB = 2**10, 2**20


def digest(number, *peaks, record=None):
    """Return a run of benchmarks `a`, `b`, ..., each with a peak."""
    benchmarks = tuple(
        BenchmarkDigest(name, name, "w", (1.0,), 0, peak and (peak, peak))
        for name, peak in zip("abc", peaks, strict=False)
    )
    date = datetime(2026, 1, 1 + number, tzinfo=UTC).isoformat()
    return Digest("here", date, None, f"{number:07}", False, record, benchmarks)


def judged(*digests):
    (found,), _ = history.histories(files(*digests), 1000)
    return result.judge([found], None, 0.03, "2026-02-01T00:00:00+00:00")


def test_a_step_is_found_between_two_runs_and_small_ones_add_up():
    def found(*sizes):
        return [(one.before, one.at, one.change.verdict) for one in memory.steps([*enumerate(sizes)])]

    flat, up = Peaks(MIB, MIB), Peaks(2 * MIB, 2 * MIB)
    assert memory.steps([]) == []
    assert found(flat, flat) == []
    assert found(flat, flat, up, up, flat) == [(1, 2, "more memory"), (3, 4, "less memory")]
    creeping = [Peaks(size, size) for size in range(10 * MIB, 10 * MIB + 240 * KIB, 40 * KIB)]
    assert found(*creeping) == [(2, 3, "more memory")]
    assert found(Peaks(MIB, 2 * MIB), Peaks(MIB, MIB), Peaks(2 * MIB, 2 * MIB)) == []


def test_the_peaks_of_a_record_are_those_of_all_its_processes():
    both = [digest(0, peak, record=("/r", 2)) for peak in (MIB, 2 * MIB)]
    (found,), _ = history.histories(files(*both, digest(1, None), digest(2, 8 * MIB)), 1000)
    assert found.series[0].peaks == ((0, Peaks(MIB, 2 * MIB)), (2, Peaks(8 * MIB, 8 * MIB)))


def test_what_needs_more_memory_is_said_and_saved_and_fails():
    found = judged(digest(0, MIB, 2 * MIB, MIB), digest(1, MIB, 2 * MIB, MIB), digest(2, 3 * MIB, MIB, MIB))
    assert [(one.series.benchmark, one.heavier) for one in found.weighed] == [("a", True), ("b", False)]
    assert exit_code(found) == 1
    text = table.text(found, 80, "utf-8", colour=False)
    assert "run 3, 0000001..0000002: more memory: a 1.0 MiB to 3.0 MiB\n" in text
    assert "run 3, 0000001..0000002: less memory: b 2.0 MiB to 1.0 MiB\n" in text
    assert table.headline(found).endswith("; 1 needs more memory now")
    saved = result.as_json(found, [])
    assert departure(saved, "trend") is None
    (change,) = saved["environments"][0]["memory"]["a"]["changes"]
    expected = MemoryChange("more memory", MIB, 3 * MIB)
    assert (change["base_bytes"], change["head_bytes"]) == (expected.base_bytes, expected.head_bytes)
    assert (change["run"], change["after_commit"], change["by_commit"]) == (2, "0000001", "0000002")


def test_less_memory_fails_nothing():
    runs = digest(0, 2 * MIB), digest(1, MIB)
    assert tuple(Digest.from_json(one.as_json()) for one in runs) == runs, "digests keep the peaks"
    found = judged(*runs)
    assert len(found.weighed) == 1
    assert found.heavier == []
    assert exit_code(found) == 3, "too short for a verdict on time"
