import json
import os
import shutil
import signal
from pathlib import Path

import psutil
import pytest

from gnnbench.engine.drive import result as results
from gnnbench.engine.ground.shard import Shard
from tests.engine.cli.saved import rows
from tests.engine.cli.started import start, workers_of
from tests.engine.process.answers import answering, inspected, valgrind
from tests.engine.process.variants.repositories import commit_all, wait_for
from tests.engine.process.workers import machine, write
from tests.runs import gnnbench
from tests.sampling import nightly

SUITE = """
def work(n=100):
    return sum(range(n))

def test_sum(benchmark):
    benchmark(work)

def test_more(benchmark):
    benchmark(work, 200)
"""
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Its processes load the only plugin that they need, which pytest.ini names, and start in half the time."""


@pytest.fixture
def suite(tmp_path):
    return write(tmp_path, SUITE)


def clock(folder, **seconds):
    times = {"test_sum": 1e-3, "test_more": 1e-3, **seconds}
    return machine(folder / "truth.json", times, sigma=0.01, drift=0.02)


def ab(folder, *words, **variables):
    return gnnbench("ab", *words, cwd=folder, **{**ALONE, **variables})


@pytest.mark.nightly
def test_both_sides_take_the_caller_s_settings(suite):
    """The base is a commit without them, and its own gnnbench.toml would be refused."""
    (suite / "pytest.ini").write_text(
        "[pytest]\naddopts = -p pytest_benchmark.plugin -p gnnbench.engine.plugin\n"
    )
    (suite / "gnnbench.toml").write_text("of_a_later_version = 3\n")
    (suite / "library.py").write_text("def work(n=100):\n    return sum(range(n))\n")
    commit_all(suite, "base")
    (suite / "gnnbench.toml").write_text('layouts = "one"\n[ab]\ntotal_budget = 1\ntime_all = true\n')
    (suite / "test_suite.py").write_text(
        "from library import work\n"
        "def test_sum(benchmark, request):\n"
        "    assert request.config.getoption('gnn_layouts') == 'one'\n"
        "    benchmark(work)\n"
    )
    words = ("git:HEAD", ".", "--json", "ab.json", "--", "test_suite.py")
    result = ab(suite, *words, GNNBENCH_FAKE_CLOCK=clock(suite))
    assert result.returncode == 3, result.stderr
    (found,) = rows(json.loads((suite / "ab.json").read_text())).values()
    assert (found["verdict"], found["same_code"]) == ("undecided", False)


def test_a_planted_slowdown_is_found_in_the_same_code(suite):
    variables = {"GNNBENCH_FAKE_CLOCK": clock(suite), "GNNBENCH_SLOWDOWN": "0.5"}
    result = ab(suite, ".", ".", "--plant", "5%", "--json", "ab.json", "--", "test_suite.py", **variables)
    assert result.returncode == 1, result.stderr
    assert "All 2 benchmarks are slower; " in result.stdout
    found = results.read(suite / "ab.json")
    assert "a slowdown of 5% was planted in the head" in found.notes
    assert [row.judgement.ratio for row in found.rows] == pytest.approx([1.05, 1.05], abs=0.01)
    assert "ab . . --plant 5% --" in result.stdout


def test_what_was_not_judged_has_exit_codes_of_its_own(suite):
    write(suite, f"{SUITE}\n\ndef test_one(benchmark):\n    assert 0\n")
    strict = ab(suite, ".", ".", "--strict", "--", "test_suite.py")
    assert strict.returncode == 3
    assert "1 of 3 benchmarks is incomparable; 2 run the same code; " in strict.stdout
    assert "base and head: raised: assert 0" in strict.stdout


def test_the_table_comes_before_the_file_that_can_no_longer_be_written(suite):
    """The benchmark itself puts a folder in its place."""
    (suite / "test_suite.py").write_text(
        "def test_sum(benchmark):\n    import os\n    os.makedirs('ab.json/in-the-way', exist_ok=True)\n"
        "    benchmark(sum, range(100))\n"
    )
    result = ab(suite, ".", ".", "--json", "ab.json", "--", "test_suite.py")
    assert "The one benchmark " in result.stdout
    assert "ab.json cannot be written" in result.stderr
    assert result.returncode == 2


@pytest.mark.parametrize("end", [signal.SIGINT, nightly(pytest.param(signal.SIGKILL))])
def test_an_end_in_the_middle_leaves_nothing_behind_and_what_was_decided_is_saved(suite, end):
    write(
        suite,
        f"{SUITE}\n\ndef test_slow(benchmark):\n    import time\n    benchmark(time.sleep, 0.01)\n"
        "    open('called', 'w').close()\n",
    )
    commit_all(suite, "first")
    side = f"env:GNNBENCH_FAKE_CLOCK={clock(suite, test_slow=1e-2)}"
    words = ("--budget", "100000", "--effect", "0.2%", "--json", "ab.json", "--", "test_suite.py")
    process = start(suite, "ab", side, side, *words, **ALONE)
    wait_for((suite / "called").exists, 60)
    workers = workers_of(process)
    process.send_signal(end)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == (-9 if end == signal.SIGKILL else 128 + end)
    assert not psutil.wait_procs(workers, timeout=20)[1]
    if end != signal.SIGKILL:
        assert json.loads((suite / "ab.json").read_text())["interrupted"] is True
        assert "interrupted: " in out
    else:
        assert not (suite / "ab.json").exists()


def test_an_end_before_collection_leaves_no_row_and_prints_no_table(suite):
    (suite / "conftest.py").write_text("import time\n\ntime.sleep(60)\n")
    process = start(suite, "ab", ".", ".", "--json", "ab.json", "--", "test_suite.py", **ALONE)
    workers_of(process)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert said.endswith("gnnbench: interrupted; nothing was saved\n")
    assert not (suite / "ab.json").exists()


def test_shards_are_timed_apart_and_merged_into_the_whole(suite):
    names = {f"test_suite.py::{name}" for name in ("test_sum", "test_more")}
    empty = 0
    for number in (1, 2, 3):
        options = ("-v", "--strict", "--shard", f"{number}/3", "--json", f"{number}.json")
        result = ab(suite, ".", ".", *options, "--", ".")
        assert result.returncode == 0, result.stderr
        found = json.loads((suite / f"{number}.json").read_text())
        assert found["shard"] == f"{number}/3"
        assert found["thresholds"]["family_level"] == pytest.approx(1 - 0.01 / 3)
        own = {name for name in names if Shard(number, 3).has(name)}
        assert {*rows(found)} == own
        assert f"shard {number}/3: {len(own)} of 2 benchmarks" in result.stdout
        empty += not own
    assert empty, "an empty shard ended cleanly"
    merged = gnnbench("merge", "1.json", "2.json", "3.json", "-o", "whole.json", cwd=suite)
    assert merged.returncode == 0, merged.stderr
    whole = results.read(suite / "whole.json")
    assert {row.fullname for row in whole.comparison.rows} == names
    assert whole.thresholds.family_level == 0.99


def test_instructions_are_counted_where_the_code_differs(in_process, tmp_path, monkeypatch):
    valgrind(monkeypatch, tmp_path)
    (tmp_path / "test_a.py").touch()
    more = {"answer": "counted", "totals": [2000, 2000]}
    both = {"inspect test_a.py::test_kept": inspected(work="1")}
    names = ["test_a.py::test_kept", "test_a.py::test_changed"]
    answering(monkeypatch, tmp_path, names, base=both, head={**both, "count": more})
    words = ("--instructions", "--budget", "0.1", "--json", "ab.json", "--", "test_a.py")
    found = in_process("ab", ".", ".", *words)
    assert found.returncode in (0, 3), found.stderr
    saved = json.loads((tmp_path / "ab.json").read_text())
    counted = {name.partition("::")[2]: one["instructions"] for name, one in rows(saved).items()}
    assert counted["test_kept"] is None
    assert (counted["test_changed"]["base"], counted["test_changed"]["head"]) == (1000, 2000)
    assert "+100.0% instructions (1.0 k to 2.0 k)" in " ".join(found.stdout.split())


COUNTED = """
import os

SIZE = int(os.environ["SIZE"])

def squares(size):
    return [number * number for number in range(size)]

def work(size):
    return sorted(range(5000), reverse=True), squares(size)

def test_work(benchmark):
    benchmark(work, SIZE)

def test_sort(benchmark):
    benchmark(sorted, [2, 1])
"""


@pytest.mark.nightly
@pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")
def test_what_executes_more_is_named(tmp_path):
    write(tmp_path, COUNTED)
    words = ("-v", "--instructions", "--budget", "0.5", "--json", "ab.json")
    found = ab(tmp_path, "env:SIZE=1000", "env:SIZE=1500", *words, "--", "test_suite.py")
    assert found.returncode in (0, 1, 3), found.stderr
    saved = json.loads((tmp_path / "ab.json").read_text())
    by_name = {name.partition("::")[2]: one for name, one in rows(saved).items()}
    same = by_name["test_sort"]["instructions"]  # not counted if the budget was enough to see that it is
    assert same is None or same["functions"] == []
    work = by_name["test_work"]["instructions"]
    assert work["head"] > 1.05 * work["base"]
    assert work["functions"][0]["name"].endswith(":_PyEval_EvalFrameDefault")


def test_nothing_is_timed_where_nothing_counts(tmp_path):
    elsewhere = os.pathsep.join(
        one for one in os.environ["PATH"].split(os.pathsep) if not Path(one, "valgrind").exists()
    )
    found = ab(tmp_path, ".", ".", "--instructions", "--", ".", PATH=elsewhere)
    assert found.returncode == 2
    assert "counting instructions needs valgrind" in found.stderr
    assert "apt install valgrind" in found.stderr
