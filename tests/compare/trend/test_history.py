from datetime import UTC, datetime
from pathlib import Path

import pytest

from gnnbench.compare.memory import Peaks
from gnnbench.compare.trend import history
from gnnbench.compare.trend.run_digests import BenchmarkDigest, Digest


def digest(
    number,
    *,
    environment="here",
    commit_date=None,
    processes=None,
    work="w",
    logs=(1.0,),
    contended=0,
    peak=None,
):
    date = datetime(2026, 1, 1 + number, tzinfo=UTC).isoformat()
    benchmark = BenchmarkDigest("b", work, tuple(logs), contended, peak and Peaks(peak, peak))
    return Digest(environment, date, commit_date, f"commit{number}", False, processes, (benchmark,), ())


def files(*digests):
    return {Path(f"/{number}.json"): one for number, one in enumerate(digests)}


def only(*digests, newest=10):
    """Return the only history of these runs."""
    ((found,), refused) = history.histories(files(*digests), newest)
    assert refused == []
    return found


def test_runs_are_in_the_order_of_their_dates():
    found = only(*(digest(number, logs=[number]) for number in (2, 0, 1)))
    assert found.ordered_by == history.DATE
    assert [run.commit for run in found.runs] == ["commit0", "commit1", "commit2"]
    (series,) = found.series
    assert series.runs.tolist() == series.logs.tolist() == [0, 1, 2]


def test_commits_order_runs_where_all_have_their_dates():
    dates = ["2026-03-03", "2026-03-01", "2026-03-02"]
    runs = [digest(number, commit_date=date) for number, date in enumerate(dates)]
    found = only(*runs)
    assert found.ordered_by == history.COMMIT
    assert [run.commit for run in found.runs] == ["commit1", "commit2", "commit0"]
    assert only(*runs, digest(3)).ordered_by == history.DATE


def test_environments_are_kept_apart_the_one_with_most_runs_first():
    runs = [digest(number, environment="there" if number % 3 else "here") for number in range(6)]
    found, _ = history.histories(files(*runs), 10)
    assert [(one.environment, len(one.runs)) for one in found] == [("there", 4), ("here", 2)]


def test_the_processes_of_a_record_are_one_run_and_all_are_needed():
    whole = [digest(0, processes=2, logs=[log], peak=peak) for log, peak in ((1.0, 10), (2.0, 20))]
    lacking = [digest(1, processes=3) for _ in range(2)]
    digests = {
        Path(f"/a/000{one.date[9]}_x_p{number}.json"): one for number, one in enumerate(whole + lacking)
    }
    ((found,), refused) = history.histories(digests, 10)
    assert len(found.runs) == 1
    assert found.runs[0].files == (Path("/a/0001_x_p0.json"), Path("/a/0001_x_p1.json"))
    assert found.series[0].logs.tolist() == [1.5]
    assert found.series[0].peaks == [(0, Peaks(10, 20))]
    why = "only 2 of the record's 3 processes are there"
    assert refused == [f"/a/0002_x_p{number}.json: {why}" for number in (2, 3)]


def test_a_benchmark_that_changed_begins_anew_and_disturbed_times_are_gaps():
    runs = [digest(number, work="old" if number < 4 else "new", logs=[number]) for number in range(8)]
    runs[5] = digest(5, work="new", logs=[], contended=1)
    found = only(*runs)
    (series,) = found.series
    assert series.runs.tolist() == series.logs.tolist() == [4, 6, 7]
    assert (found.superseded, found.contended) == (1, 1)


@pytest.mark.parametrize("newest", [1, 3])
def test_only_the_newest_runs_are_looked_at(newest):
    found = only(*(digest(number) for number in range(5)), newest=newest)
    assert [run.commit for run in found.runs] == [f"commit{number}" for number in range(5 - newest, 5)]
    assert found.older == 5 - newest


def test_copies_are_one_run():
    found = only(digest(0), digest(1, contended=1), digest(1, contended=1))
    assert [len(run.files) for run in found.runs] == [1, 2]
    assert (found.series[0].runs.tolist(), found.contended) == ([0, 1], 1)

    def record(folder, number, logs=(1.0, 2.0)):
        return {
            Path(f"/{folder}/0001_x_p{process}.json"): digest(number, processes=2, logs=[log])
            for process, log in enumerate(logs, 1)
        }

    ((found,), refused) = history.histories(
        {**record("a", 0), **record("b", 0), **record("d", 1), **record("c", 0, (1.0,))}, 10
    )
    assert [len(run.files) for run in found.runs] == [4, 2]
    assert found.series[0].runs.tolist() == [0, 1]
    assert found.series[0].logs.tolist() == [1.5, 1.5]
    assert refused == ["/c/0001_x_p1.json: only 1 of the record's 2 processes are there"]
