"""On a real Slurm, where it is installed."""

import json
import sys
from pathlib import Path

import pytest

from gnnbench.errors import UsageError
from gnnbench.variants import slurm as engine
from tests.suite import gnnbench

SUITE = """
import os
import time
from pathlib import Path

import pytest

if os.environ.get("SLURM_ARRAY_TASK_ID") == "2" and not Path("started").exists():
    Path("started").write_text(str(os.getpid()))
    time.sleep(600)  # until it is killed


@pytest.mark.parametrize("number", range(8))
def test_sum(benchmark, number):
    benchmark(sum, range(number))
"""
NOISE = {"sigma": 0.01, "spike_probability": 0, "drift": 0.02}


@pytest.fixture
def suite(tmp_path):
    """Eight benchmarks, of which one is slower in the head; the first run of shard 2 does not end."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    for name, seconds in (("base", 1e-3), ("head", 1.3e-3)):
        times = {f"test_sum[{number}]": 1e-3 for number in range(8)} | {"test_sum[3]": seconds}
        (tmp_path / f"{name}.json").write_text(json.dumps({"benchmarks": times, "noise": NOISE}))
    return tmp_path


@pytest.mark.nightly
def test_a_shard_whose_node_dies_is_repeated_and_the_result_is_that_of_one_run(slurm, suite):
    sides = [f"env:GNNBENCH_FAKE_CLOCK=5:{name}.json" for name in ("base", "head")]
    ab = ["gnnbench", "ab", *sides, "--time-all", "--budget", "20"]
    submit = ["submit", "--slurm", "--shards", "4", "-o", "whole.json", "--", *ab, "--", "test_suite.py"]
    found = gnnbench(*submit, cwd=suite, **slurm.variables)
    assert found.returncode == 0, found.stderr
    array = found.stdout.removeprefix("submitted: 4 shards as job ").partition(";")[0]
    started = suite / "started"
    slurm.wait(lambda: started.exists() and started.read_text())
    slurm.wait(lambda: _seconds(slurm.ask("squeue", "-h", "-t", "R", "-j", array, "-o", "%M")) > 4)
    slurm.kill_node()
    slurm.wait(
        lambda: not Path(f"/proc/{started.read_text()}").exists(), 20
    )  # no process of the shard is left
    slurm.start_node()
    # Slurm would wait for two minutes.
    slurm.wait(lambda: "Restarts=1" in slurm.ask("scontrol", "show", "job", f"{array}_2"))
    slurm.ask("scontrol", "update", f"JobId={array}_2", "StartTime=now")
    slurm.wait((suite / "whole.json").exists, 500)
    whole = json.loads((suite / "whole.json").read_text())
    one = gnnbench(*ab[1:], "--json", "one.json", "--", "test_suite.py", cwd=suite)
    assert one.returncode == 1, one.stderr
    alone = json.loads((suite / "one.json").read_text())
    assert set(whole) == set(alone)
    assert (whole["shard"], whole["interrupted"]) == (None, False)
    assert sorted(row["id"] for row in whole["benchmarks"]) == sorted(
        row["id"] for row in alone["benchmarks"]
    )
    assert whole["summary"] == alone["summary"] == {"same": 7, "slower": 1}
    assert whole["level"]["simultaneous"] == pytest.approx(alone["level"]["simultaneous"])


def test_pytest_is_divided_too_and_the_command_waits(slurm, suite):
    (suite / "started").touch()
    words = ["--shards", "2", "-o", "run.json", "--wait", "--", "pytest", "test_suite.py", "-q"]
    clock = {"GNNBENCH_FAKE_CLOCK": f"5:{suite / 'base.json'}", "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    found = gnnbench("submit", "--slurm", *words, cwd=suite, **slurm.variables, **clock)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.strip() == f"2 files, 8 benchmarks: {suite / 'run.json'}"
    assert len(json.loads((suite / "run.json").read_text())["benchmarks"]) == 8


def test_what_slurm_refuses_is_one_line(slurm, suite):
    words = ["-o", "run.json", "--sbatch=--partition=none", "--", "pytest", "test_suite.py"]
    found = gnnbench("submit", "--slurm", *words, cwd=suite, **slurm.variables)
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert line.startswith(
        "gnnbench: sbatch submitted nothing: error: Batch job submission failed: Invalid part"
    )


def test_without_sbatch_a_line_says_where_to_run(suite):
    found = gnnbench("submit", "--slurm", "-o", "a.json", "--", "pytest", "a.py", cwd=suite, PATH="/nowhere")
    assert found.returncode == 2
    assert found.stderr == "gnnbench: sbatch is not installed: run this where jobs are submitted to Slurm\n"


@pytest.mark.parametrize("command", [[], ["gnnbench", "trend", "runs"], ["make", "bench"]])
def test_a_command_that_cannot_be_divided_is_refused(tmp_path, command):
    with pytest.raises(UsageError, match="give a command that can be divided"):
        engine.submit(command, 2, tmp_path / "a.json", [], wait=False)


def test_words_of_the_command_stay_words(tmp_path):
    words = engine._divided(
        ["/opt/bin/pytest", "a b.py", "-k", "x and 'y'", "$(touch made)"], 3, tmp_path / "c d"
    )
    begin = f'{sys.executable} -P -m pytest --gnn-shard "$SLURM_ARRAY_TASK_ID"/3'
    assert words.startswith(begin)
    assert words.endswith(""" 'a b.py' -k 'x and '"'"'y'"'"'' '$(touch made)'""")
    assert f"'{tmp_path}/c d'/" in words


def test_a_shard_of_ab_gets_its_part_before_the_variants(tmp_path):
    words = engine._divided(["bin/gnnbench", "ab", "git:main", ".", "--", "test_a.py"], 4, tmp_path)
    shard = '"$SLURM_ARRAY_TASK_ID"'
    options = f"--shard {shard}/4 --json {tmp_path}/{shard}.json"
    assert words == f"{sys.executable} -P -m gnnbench ab {options} git:main . -- test_a.py"


def _seconds(text):
    """Read squeue's `1:05`."""
    minutes, _, seconds = text.splitlines()[0].partition(":") if text else ("0", "", "0")
    return 60 * int(minutes) + int(seconds or 0)
